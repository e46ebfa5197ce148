"""Sentences that say themselves what they name, with what lists and forms add: what the
scripts that annotate text of a field share."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Set, Tuple

from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

from spacy_entlm.lexicon.match import LexiconMatcher

MIN_CHARS, MAX_CHARS = 31, 299
END = re.compile(r"(?<=[A-Za-z0-9\)%\"'][.!?])\s+(?=[A-Z\"'(])")

Marks = List[Tuple[int, int, str]]


class Text(NamedTuple):
    """A text with what it says itself: begin, end, class; empty: not known."""

    text: str
    marks: Marks


def split_all(texts: Iterable[Text], max_chars: int = MAX_CHARS) -> List[Text]:
    """Whole sentences, each once."""
    found: Dict[str, Text] = {}
    for text, marks in texts:
        starts = [0, *(m.end() for m in END.finditer(text))]
        for begin, end in zip(starts, [*starts[1:], len(text)]):
            some = text[begin:end]
            begin += len(some) - len(some.lstrip())
            some = some.strip()
            is_whole = some[-1:] in (".", "!", "?", ":") and some[:1].isalnum()
            is_plain = not re.search(r"[$\\{}|]|::|\]\[|[^\x00-\u024f–—’‘“”…]", some)
            if is_whole and is_plain and MIN_CHARS <= len(some) <= max_chars:
                inside = [(a, b, c) for a, b, c in marks if a >= begin and b <= end]
                moved = [(a - begin, b - begin, c) for a, b, c in inside]
                found.setdefault(some, Text(some, moved))
    return list(found.values())


def mark(
    doc: Doc, marks: Marks, matcher: LexiconMatcher, shape: "re.Pattern[str]"
) -> Doc:
    """Set the entities of a Doc: what it says itself, then forms, then lists. Other
    words with a capital, and code of no known class, stay without annotation."""
    said = (doc.char_span(a, b, label=label) for a, b, label in marks if label)
    shaped = (
        doc.char_span(*m.span(), label=str(m.lastgroup))
        for m in shape.finditer(doc.text)
    )
    listed = (Span(doc, *match[:3]) for match in matcher.match(doc).labelled)
    kept: List[Span] = []
    taken: Set[int] = set()
    for some in (said, shaped, listed):
        spans = filter_spans(span for span in some if span is not None)
        kept += (x for x in spans if taken.isdisjoint(range(x.start, x.end)))
        taken.update(i for x in kept for i in range(x.start, x.end))
    unclear = {t.i for t in doc if any(map(str.isupper, t.text)) and not t.is_stop}
    for begin, end, _ in marks:
        span = doc.char_span(begin, end, alignment_mode="expand")
        unclear.update(range(span.start, span.end) if span is not None else ())
    missing = [doc[i : i + 1] for i in sorted(unclear - taken)]
    doc.set_ents(kept, missing=missing, default="outside")
    return doc


def write_parts(
    sources: Iterable[Tuple[str, List[Doc]]],
    out: Path,
    runs: int,
    most: Dict[str, int],
    per_source: int,
    seed: int,
) -> None:
    """Write files of other texts each: those of every source that have entities, and a
    tenth of the others.

    most (Dict[str, int]): Most texts of some sources in each file; of others
        `per_source`. Its other parameters: those of `main`.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts: List[List[Doc]] = [[] for _ in range(runs)]
    for name, docs in sources:
        random.Random(seed).shuffle(docs)
        chosen = [d for i, d in enumerate(docs) if d.ents or i % 10 == 0]
        each = min(most.get(name, per_source), len(chosen) // runs)
        print(f"{name}: {len(docs):,} texts, {each:,} in each file")
        for run, part in enumerate(parts):
            part.extend(chosen[run * each : (run + 1) * each])
    for run, part in enumerate(parts, 1):
        random.Random(seed).shuffle(part)
        DocBin(docs=part).to_disk(out / f"{run}.spacy")
        print(len(part), Counter(ent.label_ for doc in part for ent in doc.ents))
