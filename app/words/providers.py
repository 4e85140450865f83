"""Missing configuration of a provider of models."""

from collections.abc import Callable, Collection

from app.core.providers import PROVIDERS


def missing(name: str, is_set: Callable[[str], bool], is_installed: Callable[[str], bool]) -> list[str]:
    """What a worker lacks to call this provider; nothing if it is ready."""
    provider = PROVIDERS[name]
    lacks = []
    if not is_installed(provider.package):
        lacks.append(f"its client is not installed: pip install 'pydantic-ai-slim[{provider.extra}]'")
    has_address = provider.address is not None and is_set(provider.address)
    needs_key = bool(provider.keys) and not (provider.address_replaces_key and has_address)
    if needs_key and not any(is_set(key) for key in provider.keys):
        lacks.append(f"{_either(provider.keys)} is not set")
    if provider.address_is_needed and not has_address:
        lacks.append(f"{provider.address} is not set")
    lacks += [f"{variable} is not set" for variable in provider.also if not is_set(variable)]
    return lacks


def key_names(name: str) -> str:
    """The variables of a provider's key, for a message."""
    provider = PROVIDERS.get(name)
    return _either(provider.keys) if provider and provider.keys else "the key"


def _either(names: Collection[str]) -> str:
    return " or ".join(names)
