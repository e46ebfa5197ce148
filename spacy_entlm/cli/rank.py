"""The command `rank`: which texts to annotate next."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import spacy
from spacy.cli._util import setup_gpu
from spacy.tokens import Doc

from ..active import Ranked, rank
from ..active.ranking import MAX_TEXTS
from ..corpus.forms.argilla import argilla_record
from ..corpus.forms.json_texts import SPAN_KEYS
from ..corpus.forms.label_studio import label_studio_task
from ..corpus.prodigy import annotated_entry
from ..corpus.readers import read_docs
from ..corpus.texts import TEXT_KEYS, check_text_files, cut_text, text_entries
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.file import check_extension, write_file
from ..files.json_lines import dump_json, dump_line
from ..pipeline.confidence import confidence
from ._options import GPU_ID, OVERWRITE, arg, command, opt
from ._util import check_outputs, echo

PRODIGY, LABEL_STUDIO, ARGILLA = TOOLS = ("prodigy", "label-studio", "argilla")
# What is written anew; an earlier answer is to another question.
_OWN_KEYS = frozenset((*TEXT_KEYS, *SPAN_KEYS, "answer"))
_TEXTS = "Lines of text (.txt) or JSON lines (.jsonl), packed (.xz .gz) or not, .spacy"


@command("rank")
def rank_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    texts: Path = arg("TEXTS", _TEXTS),
    out: Path = arg("OUT", "JSON lines (.jsonl); for Label Studio and Argilla .json"),
    n: int = opt(25, "Texts to write", min=1),
    annotated: Optional[Path] = opt(
        None, "File of what is annotated already, in any form"
    ),
    tool: str = opt(PRODIGY, f"Tool that is to read OUT: {', '.join(TOOLS)}", "--for"),
    max_texts: int = opt(
        MAX_TEXTS, "If there are more texts, so many are drawn by chance", min=1
    ),
    seed: int = opt(0, "Seed: the same one gives the same order", min=0),
    gpu_id: int = GPU_ID,
    overwrite: bool = OVERWRITE,
) -> None:
    """Write the texts that you should annotate next, since the pipeline would learn
    most from them.

    The pipeline is unsure in these texts, or they have classes with few examples. They
    are like many other texts, but not like each other. Each is written with its words
    and the entities that the pipeline finds, with their confidences. "meta" says why
    the text was chosen. Ids and other keys of TEXTS are kept. If TEXTS are lines, the
    number of the line is written.

    \b
    Example:
      python -m spacy entlm rank my_model texts.txt next.jsonl --n 25
      python -m spacy entlm rank my_model texts.txt next.json --for label-studio
    """
    check_text_files([texts])
    if tool not in TOOLS:
        raise DataError(f"unknown tool {tool!r:.100}: choose {', '.join(TOOLS)}")
    check_extension(out, (".jsonl",) if tool == PRODIGY else (".json",))
    check_outputs([out], [texts, annotated], overwrite)
    setup_gpu(gpu_id, silent=True)
    nlp = spacy.load(pipeline)
    known: List[Doc] = []
    if annotated is not None:
        known, report = read_docs(annotated, nlp)
        echo(*report.problems())
    done = {doc.text.strip() for doc in known}  # lists of words end in a blank
    entries = [(text, said) for text, said in _entries(texts) if text not in done]
    lines = [text for text, _ in entries]
    if not lines:
        raise DataError("holds no text that is not annotated yet", path=texts)
    chosen = rank(nlp, lines, n=n, annotated=known, max_texts=max_texts, seed=seed)
    with write_file(out, overwrite=overwrite) as temporary:
        found = nlp.pipe(lines[one.index] for one in chosen)
        rows = [
            _entry(doc, one, entries[one.index][1]) for doc, one in zip(found, chosen)
        ]
        temporary.write_bytes(_FORMS[tool](rows))
    echo(f"{len(chosen):,} of {count_of(len(lines), 'texts')}", f"Wrote {out}")


def _entries(path: Path) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The texts of a file that are not blank, long ones in parts, and what the file
    says of each beside the text and earlier marks."""
    for _, text, entry in text_entries(path):
        said = {key: entry[key] for key in entry if key not in _OWN_KEYS}
        for part in filter(None, map(str.strip, cut_text(text))):
            yield part, said


def _entry(doc: Doc, one: Ranked, said: Dict[str, Any]) -> Dict[str, Any]:
    """A text as the tools' forms are made of it. said (Dict): What its file says."""
    before = said.get("meta")
    meta: Dict[str, Any] = {"score": one.score, **one.reasons, "rarest": one.rarest}
    meta = {**(before if isinstance(before, dict) else {}), **meta}
    entry = {**said, **annotated_entry(doc), "meta": meta}
    for span, ent in zip(entry["spans"], doc.ents):
        span["score"] = round(confidence(ent) or 0.0, 4)
    return entry


_FORMS: Dict[str, Callable[[List[Any]], bytes]] = {
    PRODIGY: lambda rows: b"".join(map(dump_line, rows)),
    LABEL_STUDIO: lambda rows: dump_json(list(map(label_studio_task, rows))),
    ARGILLA: lambda rows: dump_json(list(map(argilla_record, rows))),
}
