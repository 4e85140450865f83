"""Follows a debate and prints every turn once, however often the connection is lost.

DEBATE_SERVER_URL=http://127.0.0.1:3456 python watch.py <debate id>
"""

import sys

from debate_client import Client

for turn in Client().watch(sys.argv[1]):
    sys.stdout.write(f"{turn.seq}. {turn.role}: {turn.content}\n")
    sys.stdout.flush()
