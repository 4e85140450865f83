"""Follows a debate over its WebSocket and prints every turn once, however often the connection is lost.

pip install websockets
DEBATE_SERVER_URL=http://127.0.0.1:3456 python watch.py <debate id>
"""

import json
import os
import sys
import time

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

SERVER = os.environ.get("DEBATE_SERVER_URL", "http://127.0.0.1:3456").replace("http", "ws", 1)
TOKEN = os.environ.get("DEBATE_AUTH_TOKEN")
NOT_AGAIN = {4400, 4401, 4403, 4404}


def watch(debate_id: str) -> None:
    seen = 0
    while True:
        try:
            with connect(
                f"{SERVER}/ws?debate_id={debate_id}&after_seq={seen}",
                additional_headers={"Authorization": f"Bearer {TOKEN}"} if TOKEN else {},
                max_size=None,
            ) as socket:
                for text in socket:
                    message = json.loads(text)
                    data = message["data"]
                    if message["event"] == "initial_state":
                        turns = data["arguments"]
                    elif message["event"] == "new_argument":
                        turns = [data["argument"]]
                    else:
                        turns = []
                    for turn in turns:
                        sys.stdout.write(f"{turn['seq']}. {turn['role']}: {turn['content']}\n")
                        sys.stdout.flush()
                        seen = turn["seq"]
                    if data.get("debate", {}).get("state") == "CLOSED":
                        return
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code in NOT_AGAIN:
                sys.exit(f"{closed.rcvd.code}: {closed.rcvd.reason}")
        except OSError:
            pass  # the server is away: try again
        time.sleep(1)


watch(sys.argv[1])
