"""Errors of a cross-validation."""


class CrossvalError(ValueError):
    """A cross-validation that cannot be run; the message says what to change."""
