"""What goes wrong with a benchmark before anything is trained."""


class BenchmarkError(ValueError):
    """A config, a folder or records that a benchmark cannot use; the message says
    which, why, and what to do."""
