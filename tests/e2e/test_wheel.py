"""The built wheel alone, in a clean virtual environment: no checkout on its path, no directory of ours to stand in.

Installing eighty packages again would cost a minute of every run. So an installer puts the wheel itself there, and the
packages that it says it needs, and that those need in turn, are links to the developers' environment. What the wheel
forgot to ask for is not there.
"""

import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import httpx
import pytest
from cli_home import Command, Home
from harness import REPOSITORY
from packaging.requirements import Requirement

from app import __version__

pytestmark = pytest.mark.long
PACKAGES = ("app", "worker", "migrations", "debate_client")
PAGES = ("/", "/new", "/solutions", "/review", "/system", "/docs")
DEVELOPERS = Path(sysconfig.get_path("purelib"))


def closure(found: Distribution) -> list[Distribution]:
    """Every package that this one needs, and that those need, in the versions that they ask for."""
    reached: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(found, "")]
    while waiting:
        package, extra = waiting.pop()
        for needed in map(Requirement, package.requires or []):
            if needed.marker is not None and not needed.marker.evaluate({"extra": extra}):
                continue
            wanted = distribution(needed.name)
            assert needed.specifier.contains(wanted.version, prereleases=True), f"{package.name} wants {needed}"
            for name in ("", *needed.extras):
                if (wanted.name, name) not in seen:
                    seen.add((wanted.name, name))
                    reached[wanted.name] = wanted
                    waiting.append((wanted, name))
    return list(reached.values())


def link(packages: Iterable[Distribution], into: Path) -> None:
    for package in packages:
        for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            if not (into / top).exists():
                (into / top).symlink_to(DEVELOPERS / top)


def build(project: Path, directory: Path) -> Path:
    """The wheel of this project."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory)]
    built = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=100, check=False)
    assert built.returncode == 0, built.stderr
    [made] = directory.glob("*.whl")
    return made


def install(wheel: Path, environment: Path, name: str = "debate-runner") -> Path:
    """Where its packages are."""
    venv.create(environment, symlinks=True)
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv is not None
    options = ["--quiet", "--no-deps", "--no-index", "--no-cache", "--python", str(environment / "bin" / "python")]
    subprocess.run([uv, "pip", "install", *options, str(wheel)], check=True, timeout=60)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    [ours] = distributions(name=name, path=[str(packages)])
    link(closure(ours), packages)
    return packages


class Installed(Home):
    """`debate` as somebody has it who installed the wheel, and stands in a directory of their own."""

    def __init__(self, wheel: Path) -> None:
        super().__init__()
        self.packages = install(wheel, self.top / "venv")
        self.program = [str(self.top / "venv" / "bin" / "debate")]

    def environment(self, changes: dict[str, object]) -> dict[str, str]:
        environment = super().environment(changes)
        del environment["PYTHONPATH"]
        return environment


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(REPOSITORY, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Installed]:
    home = Installed(wheel)
    try:
        yield home
    finally:
        home.close()


@pytest.fixture(scope="module")
def up(installed: Installed) -> Iterator[Command]:
    command = installed.start("up")
    command.wait_for("is up at", 100)
    yield command
    command.send(signal.SIGTERM)
    assert command.end() == 0, command.stderr


def ours() -> set[str]:
    files = (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*"))
    return {str(path.relative_to(REPOSITORY)) for path in files if path.is_file() and path.suffix != ".pyc"}


def test_the_wheel_holds_every_file_of_the_four_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == ours()
    assert wheel.name.startswith(f"debate_runner-{__version__}-")


def test_the_environment_is_clean(installed: Installed) -> None:
    """Neither the checkout nor the developers' tools can be imported from it."""
    ask = (
        "import importlib.util, app; print(app.__file__, *map(importlib.util.find_spec, ('pytest', 'scripts', 'ruff')))"
    )
    python = installed.top / "venv" / "bin" / "python"
    environment = installed.environment({})
    asked = subprocess.run([python, "-c", ask], cwd=installed.top, env=environment, capture_output=True, text=True)
    assert asked.stdout.split() == [str(installed.packages / "app" / "__init__.py"), "None", "None", "None"]


def test_it_says_its_version(installed: Installed) -> None:
    said = installed.debate("--version")
    assert (said.process.returncode, said.stdout) == (0, f"debate-runner {__version__}\n")


def test_it_runs_a_debate_to_its_verdict(installed: Installed) -> None:
    ran = installed.debate("run", "Cities should ban private cars from their centres", "--rounds", "1", seconds=100)
    assert ran.process.returncode == 0, ran.stderr
    assert "The debate is completed: all rounds finished." in ran.stdout


def test_it_serves_the_dashboard_with_all_its_files(installed: Installed, up: Command) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{installed.port}", timeout=60, trust_env=False) as browser:
        [debate] = browser.get("/debates").json()["data"]["debates"]
        named: set[str] = set()
        for page in (*PAGES, f"/debates/{debate['id']}/view"):
            answer = browser.get(page)
            assert answer.status_code == 200, page
            assert answer.headers["Content-Type"].startswith("text/html")
            named |= set(re.findall(r'(?:href|src)="(/assets/[^"?]+)', answer.text))
        files = {f"/assets/{path.name}" for path in (REPOSITORY / "app" / "web" / "static").iterdir()}
        assert named
        assert named <= files
        assert {name for name in files if browser.get(name).status_code != 200} == set()
        assert browser.get("/openapi.json").json()["info"]["version"] == __version__
        assert browser.get("/ready").json()["data"] == {"database": "up", "queue": "up", "workers": 1, "threads": "up"}
