"""The core is the standard library and itself: no clock, no environment, no randomness."""

import ast
import sys
from pathlib import Path

import pytest

import app.core

CORE = Path(app.core.__file__).parent
FORBIDDEN_MODULES = {
    "asyncio", "ctypes", "http", "io", "multiprocessing", "os", "pathlib", "random", "secrets", "select", "shutil",
    "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
FORBIDDEN_NAMES = {
    "now", "utcnow", "today", "uuid1", "uuid4", "uuid6", "uuid7", "getnode", "environ", "getenv", "open", "input",
    "print", "eval", "exec", "__import__", "import_module",
}  # fmt: skip


def impurities(source: str) -> list[str]:
    """What this source imports or names that the core must not."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if not may_import(name.name)]
        elif isinstance(node, ast.ImportFrom):
            if node.level or not may_import(node.module):
                found.append(f"{'.' * node.level}{node.module or ''}")
            found += [name.name for name in node.names if name.name in FORBIDDEN_NAMES]
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_NAMES:
            found.append(node.attr)
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            found.append(node.id)
    return found


def may_import(module: str) -> bool:
    top = module.partition(".")[0]
    if top == "app":
        return module == "app.core" or module.startswith("app.core.")
    return module == "urllib.parse" or (top in sys.stdlib_module_names and top not in FORBIDDEN_MODULES)


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: path.name)
def test_a_file_of_the_core_is_pure(path):
    assert impurities(path.read_text()) == []
