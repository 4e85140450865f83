"""Holds many seats with `debate_client.Seat`, each in a process of its own, and kills them at random in mid-turn.

    python seat_holders.py < {"server": …, "seats": [{"debate_id", "key", "is_abandoned"}], "kills": 300, "seed": 1}

Ends when every seat that is not abandoned has held its debate to the end; prints the number of kills.
"""

import json
import os
import random
import signal
import sys
import time
from typing import Any

from debate_client import Client, Seat

PAUSE_SECONDS = 0.05


def hold(server: str, seat: dict[str, Any]) -> None:
    holder = Seat("opponent", Client(server, seat["key"]))

    @holder.answer
    def answer(turn: Any) -> str:
        if seat["is_abandoned"]:
            signal.pause()
        time.sleep(random.uniform(0.1, 0.8))
        # Never the same words again: what was said before a crash counts, and what is said after it does not.
        return f"{turn.last.seq} by {os.getpid()} at {time.monotonic()}"

    holder.hold(seat["debate_id"])


def start(server: str, seat: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        random.seed(os.getpid())
        hold(server, seat)
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    told = json.load(sys.stdin)
    rng = random.Random(told["seed"])
    held = {start(told["server"], seat): seat for seat in told["seats"]}
    kills = 0
    while any(not seat["is_abandoned"] for seat in held.values()):
        time.sleep(PAUSE_SECONDS)
        if kills < told["kills"]:
            os.kill(rng.choice(list(held)), signal.SIGKILL)
            kills += 1
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG) if held else (0, 0)
            if pid == 0:
                break
            seat = held.pop(pid)
            if status and os.WIFSIGNALED(status):
                if not seat["is_abandoned"]:
                    held[start(told["server"], seat)] = seat
            elif status:
                sys.exit(f"the seat of {seat['debate_id']} ended with {status}")
    for pid in held:
        os.kill(pid, signal.SIGKILL)
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main()
