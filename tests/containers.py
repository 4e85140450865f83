"""The files for containers, read for the tests: there is no Docker engine where these run."""

import json
import re
import shlex
from typing import Any

import yaml
from harness import REPOSITORY

COMPOSE = REPOSITORY / "docker-compose.yml"
DOCKERFILE = REPOSITORY / "Dockerfile"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("debate-runner:")]
"""The services that run the image of the Dockerfile."""


def instructions() -> list[tuple[str, str]]:
    """(instruction, its text) of the Dockerfile, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def base() -> str:
    """The image that both stages begin with, unless another is given to the build."""
    name, _, image = next(text for instruction, text in instructions() if instruction == "ARG").partition("=")
    assert name == "PYTHON"
    return image


def last(instruction: str) -> str:
    return [text for name, text in instructions() if name == instruction][-1]


def entrypoint() -> list[str]:
    return list(json.loads(last("ENTRYPOINT")))


def health_check(service: str) -> list[str]:
    kind, *command = SERVICES[service]["healthcheck"]["test"]
    assert kind == "CMD", "as an argument list, without a shell"
    return list(command)


def seconds(duration: str) -> int:
    assert duration.endswith("s")
    return int(duration.removesuffix("s"))


def copied() -> list[str]:
    """What the Dockerfile takes from the repository."""
    texts = [shlex.split(text) for name, text in instructions() if name == "COPY" and "--from" not in text]
    return [source for words in texts for source in words[:-1]]
