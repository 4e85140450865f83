"""What a developer can call or break is written down. These fail when something is added without its line."""

import re

from harness import REPOSITORY

import debate_client
from app import __version__
from app.observe import failpoints


def test_every_script_is_in_the_scripts_page() -> None:
    page = (REPOSITORY / "scripts" / "README.md").read_text()
    scripts = [path.name for path in (REPOSITORY / "scripts").iterdir() if path.is_file() and path.name != "README.md"]
    assert {name for name in scripts if f"| `{name}` |" not in page} == set()


def test_the_lock_files_hold_hashes_and_no_address() -> None:
    locks = [*REPOSITORY.glob("requirements*.lock"), *REPOSITORY.glob("app/models/local/requirements*.lock")]
    for name in locks:
        lines = name.read_text().splitlines()
        assert all(re.match(r"[a-z0-9._-]+==\S+|    --hash=sha256:[0-9a-f]{64}", line) for line in lines), name


def test_versions_of_the_program_the_client_the_image_and_the_documents_agree() -> None:
    versions = {
        "client": debate_client.__version__,
        **{
            file: re.findall(pattern, (REPOSITORY / file).read_text(), re.MULTILINE)[0]
            for file, pattern in {
                "CHANGELOG.md": r"^## \[([^\]]+)\]",
                "client/CHANGELOG.md": r"^## (\S+)",
                "docker-compose.yml": r"debate-runner:\$\{DEBATE_IMAGE_TAG:-([^}]+)\}",
                ".env.example": r"DEBATE_IMAGE_TAG=(\S+)",
                "deploy/kubernetes/kustomization.yaml": r'newTag: "([^"]+)"',
                "docs/deploy.md": r"DEBATE_IMAGE_TAG=([^`]+)`",
            }.items()
        },
    }
    assert versions == dict.fromkeys(versions, __version__)


def test_every_failpoint_is_in_the_table_of_failure_tests() -> None:
    page = (REPOSITORY / "docs" / "failure-tests.md").read_text()
    assert [f"| `{name}` | {words} |" for name, words in failpoints.POINTS.items()] == re.findall(
        r"^\| `[a-z]+\.[a-z_]+` \| .* \|$", page, re.MULTILINE
    )


def test_nobody_is_told_to_install_a_project_that_is_not_published() -> None:
    """debate-runner is installed from a checkout or from its wheel: a name alone would lead to a package index."""
    told = re.compile(r"pip install [^`\n#]*(?<![\w./-])debate-runner")
    pages = [*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "README.md", *(REPOSITORY / "app").rglob("*.py")]
    assert [page.name for page in pages if told.search(page.read_text())] == []
