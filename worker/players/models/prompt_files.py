"""The prompts of one set, ready to be filled in: its own files, and the built-in ones that it lacks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from app.core.prompt_sets import BASE, FILES, PromptSet, hash_of

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompts:
    hash: str
    _files: Mapping[str, Template]

    def __getitem__(self, name: str) -> Template:
        return self._files[name]


@cache
def built_in(version: str = BASE) -> Prompts:
    texts = {name: (_FOLDER / version / f"{name}.md").read_text(encoding="utf-8").strip() for name in FILES}
    return Prompts(hash_of(version, texts), {name: Template(text) for name, text in texts.items()})


def prompts_of(stored: PromptSet) -> Prompts:
    own = {name: Template(text.strip()) for name, text in stored.files.items()}
    base = built_in(stored.base)
    return Prompts(stored.hash, {name: own.get(name) or base[name] for name in FILES})
