"""Names of models, from the table in the installed release of genai-prices: for a form to offer, no more."""

import re
from functools import cache

_NOT_FOR_DEBATES = re.compile(
    r"embed|audio|tts|whisper|transcri|speech|image|dall-e|vision|moderation|realtime|live|rerank|ocr|search|safeguard|^ft:"
)


@cache
def models_of(provider: str) -> tuple[str, ...]:
    """Those whose context window is known, and that write texts as far as their names tell."""
    # Imported lazily: the table is large, and not every process needs it.
    from genai_prices.data_snapshot import get_snapshot

    try:
        found = get_snapshot().find_provider(None, provider, None)
    except LookupError:
        return ()
    return tuple(sorted(one.id for one in found.models if one.context_window and not _NOT_FOR_DEBATES.search(one.id)))
