import pytest

from scripts.breaking.plot import draw
from scripts.breaking.sampling import Samples
from scripts.breaking.soak import grown


def samples(values: list[float]) -> Samples:
    made = Samples()
    for minute, value in enumerate(values):
        for measure in made.series:
            made.add(measure, "worker-0", minute, value if measure == "memory" else 10)
    return made


@pytest.mark.parametrize("values", [[100.0] * 40, [60.0] * 8 + [100.0] * 32, [100.0, 103.0] * 20])
def test_a_process_that_stays_as_it_is_has_not_grown(values: list[float]) -> None:
    assert grown(samples(values)) == []


def test_a_process_that_grows_all_the_time_is_named() -> None:
    assert grown(samples([100.0 + minute for minute in range(40)])) == ["worker-0: private memory, MB"]


def test_a_plot_shows_every_process_and_measure() -> None:
    drawn = draw(samples([100.0, 200.0]))
    assert drawn.count("<polyline") == 4
    assert "worker-0" in drawn
    assert "database connections" in drawn
