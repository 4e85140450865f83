"""What a model is told about its seat, from the files in `prompts/`.

The files are versioned by folder: a change that could change how models argue makes a new folder, so that figures taken
with an old one keep their meaning.
"""

from functools import cache
from pathlib import Path
from string import Template

from app.core.brief import Brief
from app.core.formats import Format
from app.core.seats import Seat
from worker.players.models.transcript import as_json_string

VERSION = "v1"
_FILES = Path(__file__).parent / "prompts" / VERSION
LONGEST_WORDS = 300
_WORDS_PER_TOKEN = 0.5
"""A careful guess over many languages, so that an answer that keeps to the words also keeps to max_tokens."""


def instructions(brief: Brief, max_tokens: int) -> str:
    """Nothing in it comes from a participant; the persona comes from whoever set up the debate."""
    debate, seat, persona = brief.debate, brief.seat, brief.setup.persona
    is_dialogue = debate.format is Format.DIALOGUE
    last = debate.limits.max_rounds
    words = min(LONGEST_WORDS, max(20, int(max_tokens * _WORDS_PER_TOKEN)))
    language = " unless your persona says otherwise" if persona else ""
    rules = _file("rules-dialogue" if is_dialogue else "rules-rounds").substitute(
        seat=seat.role, round=debate.cursor.round, of_rounds=f" of at most {last}" if last else ""
    )
    chooses = is_dialogue and seat is Seat.PROPOSER
    filled = _file(seat.role).safe_substitute(
        rules=rules,
        document=_file("document").template,
        manners=_file("manners").substitute(words=words, persona_language=language),
        words=words,
        persona_language=language,
        persona=_file("persona").substitute(persona=as_json_string(persona)) if persona else "",
        choice=_file("proposers-choice").template if chooses else "",
    )
    return "\n\n".join(part for part in (block.strip() for block in filled.split("\n\n")) if part)


@cache
def _file(name: str) -> Template:
    return Template((_FILES / f"{name}.md").read_text(encoding="utf-8").strip())
