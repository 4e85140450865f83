"""How often a server looks for garbage. Python's own pace is that of a small script."""

import gc

OBJECTS_BETWEEN_COLLECTIONS = 10_000
"""What is in hand, fifty requests or a hundred debates, keeps more than Python's 700 objects alive: it would look for
garbage without end."""


def all_is_loaded() -> None:
    """What there is now stays for good. Looking through all of it would hold up everything for a tenth of a second,
    again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 50)
