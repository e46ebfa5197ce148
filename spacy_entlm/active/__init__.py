"""What to annotate next: the order of plain texts in which they teach most."""

from .ranking import Ranked, rank

__all__ = ["Ranked", "rank"]
