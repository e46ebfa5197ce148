"""Annotated files of any supported format to spaCy Docs."""

import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Sequence, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

from ..files.errors import DataError, located
from ..files.text import check_file, read_bytes, read_lines
from .formats import PARSERS, SPACY, format_from_content, format_from_name
from .records import Record, TextRecord, WordRecord
from .report import BLANK_WORDS, EMPTY_TEXTS, N_EXAMPLES, CorpusReport
from .tags import check_label, find_prefixed, parse_tag, tags_to_entities

# A lone surrogate, or a text that is too long for the pipeline.
REFUSED = "spaCy refuses this text: "
# Docs of real text unpack to 10 to 12 times their size, of repeated words to 300 times.
_FREE_BYTES, _MOST_EXPANSION = 2**28, 100
_PART_BYTES = 2**20
_EMPTY = "the file is empty: add annotated sentences"
# Wraps what is gone through, eg to show a progress bar.
Progress = Callable[[Sequence[Any]], Iterable[Any]]


def read_docs(
    path: str | Path,
    nlp: Language,
    *,
    format: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> tuple[list[Doc], CorpusReport]:
    """Read an annotated file of columns, JSON lines, inline markup, a list of Label
    Studio or Argilla, or a DocBin.

    Word lists become Docs with a space after each word and has_unknown_spaces set, so
    that spaCy trains and scores on these words and does not tokenise them again.

    nlp (Language): Gives the vocab, and the tokenizer for texts.
    format: "conll", "jsonl", "inline", "json" or "spacy"; "auto" or None: the extension
        and the content tell.
    RETURNS: Docs with doc.ents set, and the counts.
    RAISES (DataError): If the file cannot be read or holds bad data, and where.
    """
    path = Path(path)
    check_file(path)
    format = format_from_name(path, format)
    report = CorpusReport()
    if format == SPACY:
        docs = read_docbin(path, nlp)
        for number, doc in enumerate(docs, 1):
            with located(path, what=f"doc {number}: "):
                for ent in doc.ents:
                    check_label(ent.label_)
    else:
        # Each time anew: a small packed file may hold a billion blank lines.
        if not any(line.strip() for _, line in read_lines(path)):
            raise DataError(_EMPTY, path=path)
        parse = PARSERS[format or format_from_content(read_lines(path), path)]
        records = parse(read_lines(path), path, report)
        docs = _build_docs(records, nlp, path, report, progress)
    filled = [doc for doc in docs if len(doc)]
    report.skipped += Counter({EMPTY_TEXTS: len(docs) - len(filled)})
    if not any(doc.has_annotation("ENT_IOB") for doc in filled):
        skipped = ", ".join(f"{n} {reason}" for reason, n in report.skipped.items())
        left_out = f" (left out: {skipped})" if skipped else ""
        problem = f"no annotated docs in {len(filled)} read{left_out}"
        raise DataError(f"{problem}: add tags or spans", path=path)
    report.docs, report.words = len(filled), sum(map(len, filled))
    report.entities.update(ent.label_ for doc in filled for ent in doc.ents)
    return filled, report


def read_docbin(path: Path, nlp: Language) -> list[Doc]:
    """Read all Docs of a DocBin, empty ones too, annotated or not.
    RAISES (DataError): If it cannot be read, is no DocBin, or a damaged one."""
    return parse_docbin(read_bytes(path), nlp, path)


def parse_docbin(data: bytes, nlp: Language, path: Path) -> list[Doc]:
    """As `read_docbin`, of the content of a file. path: For messages."""
    if not data.strip():
        raise DataError(_EMPTY, path=path)
    _check_expansion(data, path)
    try:
        docs = list(DocBin().from_bytes(data).get_docs(nlp.vocab))
        # A Doc may hold the number of a text that is not in the file.
        for doc in docs:
            _ = doc.text, [ent.label_ for ent in doc.ents]
        return docs
    # Any exception: zlib, msgpack, numpy or the Doc stumble over damaged bytes.
    except Exception as error:
        raise DataError(
            f"no DocBin, or a damaged one ({type(error).__name__}): write it again "
            "with DocBin.to_disk or the convert command",
            path=path,
        ) from error


def _check_expansion(data: bytes, path: Path) -> None:
    """Unpack a DocBin, of which nothing is kept, to see how large it gets.
    RAISES (DataError): If it is much larger than annotated text can be."""
    unpacker, size, rest = zlib.decompressobj(), 0, data
    try:
        while rest and not unpacker.eof:
            size += len(unpacker.decompress(rest, _PART_BYTES))
            rest = unpacker.unconsumed_tail
            if size > max(_FREE_BYTES, _MOST_EXPANSION * len(data)):
                problem = f"unpacks to more than {size:,} bytes: no DocBin of text does"
                raise DataError(problem, path=path)
    except zlib.error:
        return  # which is told where it is read


def _build_docs(
    records: Sequence[Record],
    nlp: Language,
    path: Path,
    report: CorpusReport,
    progress: Optional[Progress],
) -> list[Doc]:
    words = [record for record in records if isinstance(record, WordRecord)]
    prefixed = find_prefixed(tag for record in words for tag in record.tags)
    for tag, line in (pair for r in words for pair in zip(r.tags, r.lines)):
        with located(path, line):
            parse_tag(tag, prefixed)
    docs = []
    for record in records if progress is None else progress(records):
        with located(path, *_place(record)):
            if isinstance(record, WordRecord):
                docs.append(_word_doc(record, nlp, prefixed, report))
            else:
                docs.append(_text_doc(record, nlp, report))
    return docs


def _place(record: Record) -> tuple[Optional[int], str]:
    """The line of a record, and how a message about its text begins."""
    if isinstance(record, WordRecord):
        return next(iter(record.lines), None), REFUSED
    if record.unit == "line":
        return record.number, REFUSED
    return None, f"{record.unit} {record.number}: {REFUSED}"


def _word_doc(
    record: WordRecord, nlp: Language, prefixed: Optional[str], report: CorpusReport
) -> Doc:
    pairs = [pair for pair in zip(record.words, record.tags) if pair[0].strip()]
    report.skipped += Counter({BLANK_WORDS: len(record.words) - len(pairs)})
    doc = Doc(nlp.vocab, words=[word for word, _ in pairs])
    spans, missing = tags_to_entities([tag for _, tag in pairs], prefixed)
    entities = [Span(doc, *span) for span in spans]
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in missing])
    return doc


def _text_doc(record: TextRecord, nlp: Language, report: CorpusReport) -> Doc:
    if not record.text.strip():
        return Doc(nlp.vocab)
    doc = nlp.make_doc(record.text)
    # Offsets of characters serve as well as those of words.
    longest = cast(Any, filter_spans)(record.spans)
    report.overlapping += len(record.spans) - len(longest)
    entities: list[Span] = []
    missing: set[int] = set()
    for start, end, label in longest:
        entity = doc.char_span(start, end, label=label)
        if entity is not None and not entity.text.isspace():
            entities.append(entity)
            continue
        touched = doc.char_span(start, end, alignment_mode="expand")
        context = record.text if touched is None else touched.text
        report.misaligned[label] += 1
        if len(report.misaligned_examples) < N_EXAMPLES:
            report.misaligned_examples.append(
                f"{record.text[start:end]!r:.100} ({label}) in {context!r:.100}, "
                f"{record.unit} {record.number}"
            )
        if touched is not None:
            missing.update(range(touched.start, touched.end))
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in sorted(missing)])
    return doc
