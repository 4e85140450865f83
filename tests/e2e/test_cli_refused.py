"""`debate refused`: what no worker understood is shown, put back or thrown away."""

import json
from collections.abc import Iterator

import pytest
from cli_home import Home, assert_one_sentence, new_home
from harness import Place

from app.cli.errors import Exit
from app.queue import DEBATES_QUEUE
from app.usecases.services import Services

MESSAGES = [b'{"body": "[bold]none"}', b"\xff\x00 bytes"]


@pytest.fixture
def home(place: Place) -> Iterator[Home]:
    settings = place.settings
    with new_home(DEBATE_DATABASE_URL=str(settings.database_url), DEBATE_REDIS_URL=str(settings.redis_url)) as made:
        yield made


def test_refused_tasks_are_shown_and_put_back(services: Services, place: Place, home: Home) -> None:
    assert home.debate("refused").stdout == "No task was refused.\n"
    for message in MESSAGES:
        services.refused.keep(message, DEBATES_QUEUE, "an unknown task", "worker-1")

    shown = home.debate("refused")
    assert shown.process.returncode == 0
    assert shown.stdout.count("an unknown task") == 2
    assert '{"body": "[bold]none"}' in shown.stdout
    assert r"\xff" in shown.stdout
    found = json.loads(home.debate("refused", "--json").stdout)["refused"]
    assert [task["queue"] for task in found] == [DEBATES_QUEUE] * 2
    assert "tasks refused: 2" in home.debate("doctor").stdout

    assert_one_sentence(home.debate("refused", "--requeue", "--forget"), Exit.USAGE)
    assert home.debate("refused", "--requeue").stdout == "2 requeued.\n"
    assert services.tasks.length() == 2
    assert services.refused.count() == 0


def test_refused_tasks_are_thrown_away(services: Services, home: Home) -> None:
    services.refused.keep(MESSAGES[0], DEBATES_QUEUE, "an unknown task", "worker-1")
    assert json.loads(home.debate("refused", "--forget", "--json").stdout) == {"forgotten": 1}
    assert (services.refused.count(), services.tasks.length()) == (0, 0)
