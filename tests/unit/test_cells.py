"""A table in one test hides no wrong cell."""

import inspect
import os
from typing import ClassVar

import pytest
from cells import each_of

ODD = "a cell is odd"


def test_a_wrong_cell_is_reported_by_its_name():
    @each_of(("left", "right"), [(1, 1), (2, 3), (4, 4)])
    def same(left, right):
        assert left == right

    with pytest.raises(AssertionError) as caught:
        same()
    assert caught.value.__notes__ == ["in left=2, right=3"]


def test_every_wrong_cell_is_reported_and_every_cell_is_run():
    seen = []

    @each_of("number", [1, 2, 3, 4])
    def even(number):
        seen.append(number)
        assert number % 2 == 0, ODD

    with pytest.raises(ExceptionGroup, match="2 of 4 cells are wrong: number=1; number=3") as caught:
        even()
    assert seen == [1, 2, 3, 4]
    assert [problem.__notes__ for problem in caught.value.exceptions] == [["in number=1"], ["in number=3"]]


@pytest.mark.parametrize(
    ("cells", "ids", "name"),
    [
        (["words"], None, "value=words"),
        ([None], None, "value=None"),
        ([pytest.param("words", id="its own")], None, "its own"),
        (["words"], ["of the list"], "of the list"),
        (["words"], len, "value=5"),
    ],
)
def test_a_cell_has_the_name_that_it_was_given(cells, ids, name):
    @each_of("value", cells, ids=ids)
    def fails(value):
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011 (it has no words)
        fails()
    assert caught.value.__notes__ == [f"in {name}"]


def test_tables_multiply_and_the_fixtures_are_what_is_left():
    seen = []

    @each_of("row", [1, 2])
    @each_of("column", "ab")
    def records(place, row, column):
        seen.append((place, row, column))

    assert list(inspect.signature(records).parameters) == ["place"]
    records(place="here")
    assert seen == [("here", 1, "a"), ("here", 1, "b"), ("here", 2, "a"), ("here", 2, "b")]


class TestInAClass:
    seen: ClassVar[list[int]] = []

    @each_of("value", [1, 2])
    def test_a_method_is_as_good_as_a_function(self, value):
        self.seen.append(value)

    def test_it_was_run_for_each(self):
        self.test_a_method_is_as_good_as_a_function()
        assert self.seen[-2:] == [1, 2]


def test_what_a_cell_patches_is_undone_before_the_next(monkeypatch):
    @each_of("value", ["first", "second"])
    def sets(monkeypatch, value):
        assert "OF_A_CELL" not in os.environ
        monkeypatch.setenv("OF_A_CELL", value)

    sets(monkeypatch=monkeypatch)
    assert "OF_A_CELL" not in os.environ


def test_a_table_without_cells_a_mark_and_a_name_that_the_test_does_not_have_are_mistakes():
    with pytest.raises(AssertionError, match="without a cell"):
        each_of("value", [])
    with pytest.raises(AssertionError, match="marks"):
        each_of("value", [pytest.param(1, marks=pytest.mark.long)])
    with pytest.raises(AssertionError, match="no arguments"):
        each_of("value", [1])(lambda: None)


def test_a_cell_that_raises_nothing_where_it_should_is_wrong_and_the_others_are_run():
    seen = []

    @each_of("value", [1, 0, 2, 0])
    def divides(value):
        seen.append(value)
        with pytest.raises(ZeroDivisionError):
            1 / value

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cells are wrong: value=1; value=2"):
        divides()
    assert seen == [1, 0, 2, 0]


def test_a_cell_cannot_be_skipped():
    @each_of("value", [1, 2])
    def skips(value):
        if value == 2:
            pytest.skip("not here")

    with pytest.raises(AssertionError, match="cannot be skipped"):
        skips()
