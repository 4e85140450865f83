"""`scripts/diagrams`: draws the diagrams that come from the code into the pages that show them."""

import re
import sys
from pathlib import Path

from scripts.drawing import layers, states

DOCS = Path(__file__).parents[2] / "docs"
DRAWN = {"states.md": states.draw, "architecture.md": layers.draw}
"""Page → what draws the block after its mark."""
_BLOCK = re.compile(r"(<!-- drawn by scripts/diagrams -->\n```mermaid\n).*?(\n```)", re.DOTALL)


def redrawn(page: str) -> str:
    text, count = _BLOCK.subn(lambda found: found[1] + DRAWN[page]() + found[2], (DOCS / page).read_text())
    if count != 1:
        sys.exit(f"docs/{page} has {count} blocks marked as drawn by scripts/diagrams, and should have one")
    return text


def main() -> None:
    for page in DRAWN:
        (DOCS / page).write_text(redrawn(page))


if __name__ == "__main__":
    main()
