"""Opposes: finds a debate that waits for its first opponent, or takes the one it is given, to the end.

    python opponent.py --remember opponent.debate

May be killed and started again at any moment: it continues the debate that it remembers, and repeats no turn.
"""

import argparse
import logging
import time

from debate_client import Seat, Turn


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("debate_id", nargs="?", help="default: the next debate that needs an opponent")
    options.add_argument("--remember", default="opponent.debate", help="the file that keeps the choice")
    options.add_argument("--think", type=float, default=0, help="seconds before each argument")
    given = options.parse_args()

    seat = Seat("opponent")

    @seat.answer
    def answer(turn: Turn) -> str:
        time.sleep(given.think)
        return f"“{turn.last.content[:60]}” leaves open who pays for it."

    if given.debate_id:
        seat.hold(given.debate_id)
    else:
        seat.hold_any(remember=given.remember)
    logging.info("the debate is closed")


if __name__ == "__main__":
    logging.basicConfig(format="opponent: %(message)s", level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    main()
