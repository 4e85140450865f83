"""Through a real PgBouncer: `debate doctor` names what it refuses, and as documented debates are held."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from byte_proxy import ByteProxy
from cli_home import new_home
from harness import REPOSITORY, Place, assert_all_is_well, wait_until

from app.cli.stack import free_port

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
NEEDED = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed: apt-get install pgbouncer")
pytestmark = [pytest.mark.long, NEEDED]
PAGE = (REPOSITORY / "docs" / "proxy.md").read_text()


def documented() -> str:
    """The lines of docs/proxy.md for the version that is installed."""
    [both] = re.findall(r"```ini\n(.*?pool_mode.*?)```", PAGE, re.DOTALL)
    version = subprocess.run([str(PGBOUNCER), "--version"], capture_output=True, text=True, check=True).stdout
    is_new = tuple(map(int, version.split()[1].split(".")[:2])) >= (1, 21)
    if is_new:
        return str(both)
    kept = [line for line in both.splitlines() if "max_prepared_statements" not in line]
    return "\n".join(kept).replace("pool_mode = transaction", "pool_mode = session")


@contextmanager
def pgbouncer(place: Place, directory: Path, settings: str) -> Iterator[str]:
    """The address of the place's database through it."""
    address = urlsplit(str(place.settings.database_url))
    # The tests' servers can be reached by their own user only, which PgBouncer refuses to be when that is root.
    to_postgres = ByteProxy(place.postgres_socket)
    port = free_port("127.0.0.1")
    file = directory / "pgbouncer.ini"
    file.write_text(
        f"[databases]\n* = host=127.0.0.1 port={to_postgres.port} user={address.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n{settings}\n"
    )
    command = [str(PGBOUNCER), *(["-u", "nobody"] if os.geteuid() == 0 else []), str(file)]
    with (directory / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    url = f"postgresql://{address.username}@127.0.0.1:{port}{address.path}"

    def answers() -> bool:
        assert process.poll() is None, (directory / "pgbouncer.log").read_text()
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_until(answers, 60, "PgBouncer answers")
        yield url
    finally:
        process.terminate()
        process.wait(30)
        to_postgres.close()


def test_doctor_names_the_startup_parameter_that_pgbouncer_refuses(place: Place, tmp_path: Path) -> None:
    with pgbouncer(place, tmp_path, "") as url, new_home() as home:
        seen = home.debate("doctor", DEBATE_DATABASE_URL=url, DEBATE_REDIS_URL=str(place.settings.redis_url))
        assert seen.process.returncode == 1
        assert "startup parameter" in seen.stdout
        assert "ignore_startup_parameters = options,extra_float_digits" in seen.stdout


def test_with_the_documented_settings_debates_are_held_through_it(place: Place, tmp_path: Path) -> None:
    with pgbouncer(place, tmp_path, documented()) as url:
        api = place.start_api(database_url=url)
        place.start_worker(database_url=url)
        ids = [str(api.create(limits={"max_rounds": 2})["id"]) for _ in range(10)]
        for debate_id in ids:
            api.wait_closed(debate_id, 60)
        place.end_programs()
    assert_all_is_well(place)
