"""Proposes a motion, argues for it, and asks for completion.

    python proposer.py "We should write the tests first"

May be killed and started again at any moment: the same motion is the same debate, and no turn is repeated.
"""

import argparse
import hashlib
import logging
import time

from debate_client import Client, Resolve, Seat, Turn


def open_debate(client: Client, motion: str) -> str:
    """The same motion has the same client_request_id, and so gets the same debate."""
    request_id = "proposer.py:" + hashlib.sha256(motion.encode()).hexdigest()
    return client.create(motion, client_request_id=request_id).debate.id


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("motion")
    options.add_argument("--arguments", type=int, default=2, help="how often to argue before asking for completion")
    options.add_argument("--think", type=float, default=0, help="seconds before each argument")
    given = options.parse_args()

    client = Client()
    seat = Seat("proposer", client)

    @seat.answer
    def answer(turn: Turn) -> str | Resolve:
        time.sleep(given.think)
        # Counted in the transcript, not in this program's memory.
        mine = sum(argument.role == "proposer" for argument in turn.transcript)
        if mine < given.arguments:
            return f"Reason {mine + 1} for it, which also meets your point “{turn.last.content[:60]}”."
        return Resolve("We agree: yes, with your conditions.")

    debate_id = open_debate(client, given.motion)
    logging.info("debate %s", debate_id)
    seat.hold(debate_id)
    logging.info("the debate is closed")


if __name__ == "__main__":
    logging.basicConfig(format="proposer: %(message)s", level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    main()
