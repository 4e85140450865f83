"""`python -m app.cli`. scripts/debate says first how it was typed, so that hints name it that way."""

import sys

from app.cli.main import run

if sys.argv[1:2] == ["--typed-as"]:
    sys.argv = sys.argv[2:]
run()
