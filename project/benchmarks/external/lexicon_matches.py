"""The matches of a lexicon as a method of `compare`: nothing is trained.

The lexicon is the names that are annotated in a text; their labels must be the
classes of the data.

    lexicon_matches.py LEXICON {test} {predictions}
"""

import sys
from collections import Counter
from pathlib import Path
from typing import List

import spacy

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.tags import doc_to_tags
from spacy_entlm.files.json_lines import dump_line
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import LexiconMatcher, annotate


def annotated_names(path: Path) -> List[Entry]:
    """The names that are annotated in a text, each with the label it has most often."""
    docs = read_docs(path, spacy.blank("xx"))[0]
    counts = Counter((ent.text, ent.label_) for doc in docs for ent in doc.ents)
    return [Entry(name, label, float(n)) for (name, label), n in counts.items()]


def main(lexicon: str, test: str, predictions: str) -> None:
    """Annotate the test sentences."""
    matcher = LexiconMatcher(annotated_names(Path(lexicon)))
    docs = read_docs(test, spacy.blank("xx"))[0]
    lines = []
    for doc, _ in annotate(docs, matcher, join=True):
        words = [token.text for token in doc]
        lines.append(dump_line({"text": words, "label": doc_to_tags(doc)}))
    Path(predictions).write_bytes(b"".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
