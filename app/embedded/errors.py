class EmbeddedError(Exception):
    """The embedded servers cannot be used. The message includes the fix."""
