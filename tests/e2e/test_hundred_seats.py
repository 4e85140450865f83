"""A hundred seats, held by processes that are killed at random in mid-turn and started again; some stay dead."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from agents import TOKEN
from cli_home import url_of
from harness import REPOSITORY, Place, assert_whole, wait_until

from debate_client import Client

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
SEATS, ABANDONED = 100, 10
KILLS = 300
ROUNDS = 3
DEADLINE_SECONDS = 10.0
LATE_SECONDS = 30.0
"""After its deadline, on a machine that is busy with a hundred seats."""


def test_every_debate_ends_no_turn_twice_and_none_stuck_past_its_deadline(place: Place) -> None:
    settings = {"auth_token": TOKEN, "rate_limit": "off"}
    api = place.start_api(**settings)
    place.start_worker(**settings)
    server = url_of(api)
    boss = Client(server, TOKEN)
    seats = []
    for number in range(SEATS):
        is_abandoned = number % (SEATS // ABANDONED) == 0
        deadline = DEADLINE_SECONDS if is_abandoned else 600
        opponent = {"player": "external", "deadline_seconds": deadline, "on_timeout": "forfeit"}
        debate = boss.create(
            f"Motion {number}", format="rounds", seats={"opponent": opponent}, limits={"max_rounds": ROUNDS}
        ).debate
        key = boss.invite(debate.id, "opponent").key
        seats.append({"debate_id": debate.id, "key": key, "is_abandoned": is_abandoned})
    told = json.dumps({"server": server, "seats": seats, "kills": KILLS, "seed": 7})
    ran = subprocess.run(
        [sys.executable, Path(__file__).parent / "seat_holders.py"],
        input=told,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert int(ran.stdout) == KILLS, "the debates were over before the chaos was"
    wait_until(lambda: not any(boss.debates(status="running")), 120, "every debate has ended")
    for seat in seats:
        transcript = api.http.get(f"/debates/{seat['debate_id']}", headers={"Authorization": f"Bearer {TOKEN}"}).json()[
            "data"
        ]
        debate, turns = transcript["debate"], transcript["arguments"]
        assert debate["status"] == "completed", debate
        if not seat["is_abandoned"]:
            assert debate["stop_reason"] == "max_rounds"
            assert_whole(transcript, rounds=ROUNDS)
            assert len({turn["client_request_id"] for turn in turns if turn["role"] == "opponent"}) == ROUNDS
        else:
            assert debate["stop_reason"] == "forfeit"
            waited = datetime.fromisoformat(debate["updated_at"]) - datetime.fromisoformat(turns[-1]["created_at"])
            assert waited.total_seconds() < DEADLINE_SECONDS + LATE_SECONDS
