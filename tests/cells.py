"""One test for a whole table. A test of its own for each cell costs more than most cells do."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Names = str | Sequence[str]
Ids = Callable[[Any], object] | Sequence[object] | None
Test = Callable[..., None]


def each_of(names: Names, cells: Iterable[Any], ids: Ids = None) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, in one test: every cell runs, and every wrong one is reported by its name.

    For cells that leave each other alone. They share the fixtures of the test; only `monkeypatch` begins anew. A cell
    cannot be skipped: the others would hide it.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_cell(arguments, cell, ids, number) for number, cell in enumerate(cells)]
    assert table, "a test without a cell tests nothing"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        assert set(arguments) <= set(signature.parameters), f"{test.__name__} has no arguments {arguments}"

        @functools.wraps(test)
        def of_each(*test_class: Any, **fixtures: Any) -> None:
            wrong: dict[str, BaseException] = {}
            for name, values in table:
                try:
                    _run(functools.partial(test, *test_class), {**fixtures, **values})
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as problem:
                    problem.add_note(f"in {name}")
                    wrong[name] = problem
            _report(wrong, len(table))

        left = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        # Pytest asks for these fixtures.
        of_each.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return of_each

    return decorate


def _cell(arguments: list[str], cell: Any, ids: Ids, number: int) -> tuple[str, dict[str, Any]]:
    name = None
    if isinstance(cell, type(pytest.param())):
        assert not cell.marks, "a cell cannot have marks"
        name, cell = cell.id, cell.values if len(arguments) > 1 else cell.values[0]
    values = dict(zip(arguments, cell if len(arguments) > 1 else [cell], strict=True))
    if name is None and ids is not None and not callable(ids):
        name = ids[number]
    if name is None:
        say = ids if callable(ids) else lambda value: value if isinstance(value, str) else repr(value)
        name = ", ".join(f"{argument}={say(value)}" for argument, value in values.items())
    return str(name), values


def _run(test: Test, arguments: dict[str, Any]) -> None:
    patch = arguments.get("monkeypatch")
    if patch is None:
        test(**arguments)
        return
    with patch.context() as own:
        test(**{**arguments, "monkeypatch": own})


def _report(wrong: dict[str, BaseException], count: int) -> None:
    problems = list(wrong.values())
    if any(isinstance(problem, pytest.skip.Exception) for problem in problems):
        raise AssertionError("a cell cannot be skipped") from problems[0]
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise BaseExceptionGroup(f"{len(wrong)} of {count} cells are wrong: {'; '.join(wrong)}", problems)
