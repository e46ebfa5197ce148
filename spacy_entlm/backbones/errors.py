"""What can be wrong with a backbone."""


class BackboneError(ValueError):
    """A masked LM that cannot be loaded or used; the message says what to do."""
