"""`python -m app.cli`. scripts/debate passes its name as typed, for hints."""

import sys

from app.cli.main import run

if sys.argv[1:2] == ["--typed-as"]:
    sys.argv = sys.argv[2:]
run()
