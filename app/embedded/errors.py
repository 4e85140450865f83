class EmbeddedError(Exception):
    """The embedded servers cannot be used. The message tells the user what to do."""
