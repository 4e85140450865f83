"""Opposes: finds a debate that waits for its first opponent, or takes the one it is given, to the end.

    python opponent.py --remember opponent.debate

May be killed and started again at any moment: it goes on with the debate that it remembers, and says nothing twice.
"""

import argparse
import logging
import time
from pathlib import Path

from debate_api import LOOK_EVERY_SECONDS, DebateApi, log


def find_debate(api: DebateApi, patience_seconds: float) -> str:
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        pending = api.get("/debates", pending_first_opponent="true", format="dialogue")["debates"]
        for debate in pending:
            # Where a worker's player holds the seat, nothing is taken from outside.
            if debate["seats"]["opponent"]["player"] == "external" and debate["status"] != "paused":
                return debate["id"]
        time.sleep(LOOK_EVERY_SECONDS)
    raise TimeoutError("no debate waits for an opponent")


def remembered(api: DebateApi, file: Path, patience_seconds: float) -> str:
    """The choice is written down before the first word: after that the debate is no longer listed as pending."""
    if not file.exists():
        written = file.with_suffix(".new")
        written.write_text(find_debate(api, patience_seconds))
        written.rename(file)
    return file.read_text()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("debate_id", nargs="?", help="a debate to take part in, instead of looking for one")
    options.add_argument("--remember", type=Path, default=Path("opponent.debate"), help="where the choice is kept")
    options.add_argument("--think", type=float, default=0, help="seconds before each argument")
    options.add_argument("--patience", type=float, default=300, help="seconds to wait for the proposer")
    given = options.parse_args()

    api = DebateApi()
    debate_id = given.debate_id or remembered(api, given.remember, given.patience)
    log.info("debate %s", debate_id)
    while news := api.wait_for_turn(debate_id, "opponent", given.patience):
        time.sleep(given.think)
        heard = news["argument"]
        content = f"Against “{heard['content'][:60]}” stands the question of who pays for it."
        api.say("arguments", debate_id, heard, content, role="opponent")
    log.info("the debate is closed")
    if not given.debate_id:
        given.remember.unlink()


if __name__ == "__main__":
    logging.basicConfig(format="opponent: %(message)s", level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    main()
