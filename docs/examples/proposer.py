"""Proposes a motion, argues for it, and asks for completion.

    python proposer.py "We should write the tests first"

May be killed and started again at any moment: the same motion is the same debate, and nothing is said twice.
"""

import argparse
import hashlib
import logging
import time

from debate_api import DebateApi, log


def open_debate(api: DebateApi, motion: str) -> str:
    """The same motion has the same client_request_id, and so gets the same debate."""
    request_id = "proposer.py:" + hashlib.sha256(motion.encode()).hexdigest()
    created = api.post(
        "/debates",
        title=motion[:200],
        debate_type="general_debate",
        motion_content=motion,
        client_request_id=request_id,
    )
    return created["debate"]["id"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("motion")
    options.add_argument("--arguments", type=int, default=2, help="how often to argue before asking for completion")
    options.add_argument("--think", type=float, default=0, help="seconds before each argument")
    options.add_argument("--patience", type=float, default=300, help="seconds to wait for the opponent")
    given = options.parse_args()

    api = DebateApi()
    debate_id = open_debate(api, given.motion)
    log.info("debate %s", debate_id)
    while news := api.wait_for_turn(debate_id, "proposer", given.patience):
        time.sleep(given.think)
        # Counted in the transcript, not in this program's memory.
        said = api.get(f"/debates/{debate_id}")["arguments"]
        mine = sum(argument["role"] == "proposer" for argument in said)
        heard = news["argument"]
        if mine < given.arguments:
            content = f"Reason {mine + 1} for it, which also meets your point “{heard['content'][:60]}”."
            api.say("arguments", debate_id, heard, content, role="proposer")
        else:
            api.say("resolution", debate_id, heard, "We agree: yes, with your conditions.")
    log.info("the debate is closed")


if __name__ == "__main__":
    logging.basicConfig(format="proposer: %(message)s", level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    main()
