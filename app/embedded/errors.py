class EmbeddedError(Exception):
    """The embedded servers cannot be used; the message is a sentence that its reader can act on."""
