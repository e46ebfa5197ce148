"""The entities of a Doc: which of those that are found may be set beside others."""

from typing import Iterable, List

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc, Span


def set_entities(doc: Doc, found: List[Span], *, overwrite: bool) -> None:
    """Set `doc.ents`. Blocked words stay in no entity.
    overwrite (bool): Whether entities that are there go; else they come first."""
    kept = () if overwrite else doc.ents
    if overwrite:
        _forget_ids(doc)
    blocked = _blocked_words(doc)
    doc.set_ents(_without_overlaps(found, kept, blocked), blocked=blocked)


def _forget_ids(doc: Doc) -> None:
    """Take the ids of entities off their words: `Doc.set_ents` leaves them there."""
    for ent in doc.ents:
        if ent.id or ent.kb_id:
            for token in ent:
                token.ent_id = token.ent_kb_id = 0


def _blocked_words(doc: Doc) -> List[Span]:
    """Words that are to be in no entity, as `Doc.set_ents` notes them."""
    begins, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    return [doc[i : i + 1] for i in numpy.flatnonzero((begins == 3) & (types == 0))]


def _without_overlaps(
    found: List[Span], kept: Iterable[Span], blocked: Iterable[Span]
) -> List[Span]:
    """Entities that are there, and new ones where they and blocked words leave room, in
    order."""
    taken = {i for ent in (*kept, *blocked) for i in range(ent.start, ent.end)}
    free = [ent for ent in found if taken.isdisjoint(range(ent.start, ent.end))]
    return sorted([*kept, *free], key=lambda ent: ent.start)
