"""Docs as Prodigy's JSON lines: a text, its words, and spans of both."""

from typing import Any, Dict

from spacy.tokens import Doc


def annotated_entry(doc: Doc) -> Dict[str, Any]:
    """A Doc as a JSON object that Prodigy reads, and `read_docs`.

    RETURNS (Dict): "text"; "tokens" with "text", "start", "end", "id" and "ws" (whether
        a blank follows); "spans" with "start", "end" (characters, the end exclusive),
        "token_start", "token_end" (the last word) and "label".
    """
    return {
        "text": doc.text,
        "tokens": [
            {
                "text": token.text,
                "start": token.idx,
                "end": token.idx + len(token),
                "id": token.i,
                "ws": bool(token.whitespace_),
            }
            for token in doc
        ],
        "spans": [
            {
                "start": span.start_char,
                "end": span.end_char,
                "token_start": span.start,
                "token_end": span.end - 1,
                "label": span.label_,
            }
            for span in doc.ents
        ],
    }
