"""Records a debate of models in a terminal as an animated SVG. The models are prepared texts of the tests' provider."""

import json
import os
import re
import tempfile
from html import escape
from itertools import pairwise
from pathlib import Path

from app.cli.stack import free_port
from scripts.camera.terminal import Cell, Frame, record
from tests.model_server import Call, ModelServer

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "stream.svg"
MOTION = "Cities should ban private cars from their centres"
ROWS, COLUMNS = 30, 88
SPEECHES = {
    "advocate": "A parked car needs twelve square metres and is used for one hour a day. Without cars, the same "
    "street holds trees, bus lanes and tables. Deliveries and taxis keep their permits, so nobody loses access; only "
    "storage of private property in public space ends.",
    "skeptic": "The ban moves cars to the next district and does not remove one of them. My opponent says that nobody "
    "loses access, but permits are a queue: nurses on night shifts and people who cannot walk far must ask for them. "
    "A price for road space gives the same space back and lets each person decide.",
}
REASONING = (
    "The proposer showed what the space is worth. The opponent met that point and offered a remedy with the same gain "
    "and a smaller cost, which the proposer did not answer."
)
# The colors of a dark terminal, by ANSI's numbers.
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
BACKGROUND, TEXT = "#0d1117", "#e6edf3"
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 16
_SPINNER = re.compile("[\u2800-\u28ff]")
LAST_SECONDS = 6
"""How long the end stays before the animation begins again."""
LONGEST_WAIT_SECONDS = 1.0
SHORTEST_SECONDS = 0.15
"""Of a frame: quicker changes are shown together."""


def main() -> None:
    with ModelServer(pieces_pause=0.1, say=_say) as models, tempfile.TemporaryDirectory() as directory:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DEBATE_SERVER", "XDG_"))},
            "DEBATE_DATA_DIR": directory,
            "DEBATE_SERVER_PORT": str(free_port("127.0.0.1")),
            "DEBATE_ENDPOINTS": f"demo={models.url}/v1",
            "NO_PROXY": "127.0.0.1",
            # So that the command calls itself `debate` in its hints, and not by its path.
            "PATH": os.pathsep.join([os.environ["PATH"], str(ROOT / "scripts")]),
        }
        seats = ("--proposer", "demo:advocate", "--opponent", "demo:skeptic", "--arbitrator", "demo:judge")
        command = (str(ROOT / "scripts" / "debate"), "run", MOTION, "--rounds", "1", *seats)
        frames, code = record(command, environment, ROOT, (ROWS, COLUMNS))
    assert code == 0, "".join(cell.letter for line in frames[-1].lines for cell in line)
    PICTURE.write_text(drawn(_without_waiting(frames), f"debate run “{MOTION}”"))
    print(f"{PICTURE}  {PICTURE.stat().st_size // 1024} KB, {len(frames)} frames")


def _say(call: Call) -> str:
    if call.model in SPEECHES:
        return SPEECHES[call.model]
    scores = {"proposer": 6.5, "opponent": 7.5}
    return json.dumps({"reasoning": REASONING, "scores": scores, "winner": "opponent", "stop": False})


def _without_waiting(frames: list[Frame]) -> list[Frame]:
    """From the motion on, without most of the waiting and without changes that are too quick to see."""
    begin = next(number for number, frame in enumerate(frames) if any("Motion" in _text(line) for line in frame.lines))
    kept = [Frame(0, frames[begin].lines)]
    moment = waited = 0.0
    for before, frame in pairwise(frames[begin:]):
        passed = frame.seconds - before.seconds
        waited = waited + passed if _still(before) == _still(frame) else 0.0
        if waited > LONGEST_WAIT_SECONDS:
            continue
        moment += min(passed, LONGEST_WAIT_SECONDS)
        if moment - kept[-1].seconds < SHORTEST_SECONDS:
            kept[-1] = Frame(kept[-1].seconds, frame.lines)
        else:
            kept.append(Frame(moment, frame.lines))
    return [*kept, Frame(kept[-1].seconds + SHORTEST_SECONDS, frames[-1].lines)]


def _still(frame: Frame) -> str:
    """Without the spinner."""
    return _SPINNER.sub("", "\n".join(_text(line) for line in frame.lines))


def drawn(frames: list[Frame], title: str) -> str:
    """Each distinct line is drawn once and used by the frames that contain it."""
    total = frames[-1].seconds + LAST_SECONDS
    width = round(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
    height = ROWS * LINE_HEIGHT + 2 * MARGIN
    names: dict[tuple[Cell, ...], str] = {}
    shown = []
    for number, frame in enumerate(frames):
        ends = frames[number + 1].seconds if number + 1 < len(frames) else total
        uses = "".join(
            f'<use href="#{names.setdefault(line, f"l{len(names)}")}" y="{row * LINE_HEIGHT}"/>'
            for row, line in enumerate(frame.lines)
            if line
        )
        times = f"0;{frame.seconds / total:.4f};{ends / total:.4f};1"
        first = "visible" if number == 0 else "hidden"
        shown.append(
            f'<g visibility="{first}"><animate attributeName="visibility" dur="{total:.2f}s" '
            f'repeatCount="indefinite" calcMode="discrete" keyTimes="{times}" '
            f'values="{first};visible;hidden;hidden"/>{uses}</g>'
        )
    lines = "".join(f'<text id="{name}">{_spans(line)}</text>' for line, name in names.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<title>{escape(title)}</title><rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
        f"<style>text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{TEXT};"
        f"white-space:pre}}</style><defs>{lines}</defs>"
        f'<g transform="translate({MARGIN} {MARGIN + LINE_HEIGHT - 5})">{"".join(shown)}</g></svg>\n'
    )


def _text(line: tuple[Cell, ...]) -> str:
    return "".join(cell.letter for cell in line)


def _spans(line: tuple[Cell, ...]) -> str:
    """Runs of one style, each at its column, so that a font of another width does no harm."""
    runs: list[tuple[int, frozenset[str], str]] = []
    for column, cell in enumerate(line):
        if runs and runs[-1][1] == cell.style:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + cell.letter)
        else:
            runs.append((column, cell.style, cell.letter))
    return "".join(
        f'<tspan x="{column * CHARACTER_WIDTH:.1f}" textLength="{len(text) * CHARACTER_WIDTH:.1f}"{_look(style)}>'
        f"{escape(text)}</tspan>"
        for column, style, text in runs
        if text.strip()
    )


def _look(style: frozenset[str]) -> str:
    color = next((f' fill="{COLORS[code]}"' for code in style if code in COLORS), "")
    weight = ' font-weight="bold"' if "1" in style else ""
    return color + weight + (' opacity="0.6"' if "2" in style else "")


if __name__ == "__main__":
    main()
