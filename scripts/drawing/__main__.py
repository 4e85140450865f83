"""`scripts/diagrams`: draws the diagrams and tables that come from the code into the pages that show them."""

import re
import sys
from pathlib import Path

from scripts.drawing import layers, states

DOCS = Path(__file__).parents[2] / "docs"
DRAWN = {
    "states.md": {"diagram": states.diagram, "formats": states.formats, "moves": states.moves},
    "architecture.md": {"layers": layers.draw},
}
"""Page → name in the mark → what draws the lines after it."""
_BLOCK = re.compile(r"(<!-- drawn by scripts/diagrams: (\w+) -->\n)(?:.+\n)+")


def redrawn(page: str) -> str:
    drawn = DRAWN[page]
    text = (DOCS / page).read_text()
    marked = [name for _, name in _BLOCK.findall(text)]
    if sorted(marked) != sorted(drawn):
        sys.exit(f"docs/{page} has marks for {marked}, and scripts/diagrams draws {list(drawn)} there")
    return _BLOCK.sub(lambda found: f"{found[1]}{drawn[found[2]]()}\n", text)


def main() -> None:
    for page in DRAWN:
        (DOCS / page).write_text(redrawn(page))


if __name__ == "__main__":
    main()
