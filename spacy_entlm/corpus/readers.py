"""Annotated files of any supported format to spaCy Docs."""

import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Sequence, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

from ..files.counts import count_of
from ..files.errors import DataError, located
from ..files.text import check_file, read_bytes, read_lines
from .docs import unread_spans
from .file_format import format_from_content, format_from_name
from .forms.all_forms import BRAT, BY_NAME, JSON, JSON_KINDS, SPACY
from .forms.brat import is_brat_folder
from .forms.source import Place, Source
from .forms.spans import check_classes, join_tags
from .offsets import fitting_shifts
from .reading_report import (
    BLANK_WORDS,
    COVERED,
    EMPTY_TEXTS,
    N_EXAMPLES,
    UNREAD_SPANS,
    CorpusReport,
)
from .records import Record, TextRecord, WordRecord
from .tag_forms import check_outside, check_prefixes, normalize_tags
from .tags import check_label, find_prefixed, parse_tag, tags_to_entities

# A lone surrogate, or a text that is too long for the pipeline.
REFUSED = "spaCy refuses this text: "
# Docs of real text unpack to 10 to 12 times their size, of repeated words to 300 times.
_FREE_BYTES, _MAX_EXPANSION = 2**28, 100
_PART_BYTES = 2**20
_EMPTY = "the file is empty: add annotated sentences"
# Wraps what is gone through, eg to show a progress bar.
Progress = Callable[[Sequence[Any]], Iterable[Any]]


def read_docs(
    path: str | Path,
    nlp: Language,
    *,
    format: Optional[str] = None,
    columns: Optional[str] = None,
    labels: Sequence[str] = (),
    progress: Optional[Progress] = None,
) -> tuple[list[Doc], CorpusReport]:
    """Read an annotated file of any form of `forms.all_forms`, or a DocBin.

    Word lists become Docs with a space after each word and has_unknown_spaces set, so
    that spaCy trains and scores on these words and does not tokenise them again.

    nlp (Language): Gives the vocab, and the tokenizer for texts.
    format: One of `formats.FORMATS`; "auto" or None: the extension and the content
        tell.
    columns: The columns of words and of tags, "2,4", by numbers from 1 or by names of a
        header row; None: their content tells.
    labels: Names of tags or classes that the file gives as numbers from 0.
    RETURNS: Docs with doc.ents set, and the counts.
    RAISES (DataError): If the file cannot be read or holds bad data, and where.
    """
    path = Path(path)
    if is_brat_folder(path):
        known: Optional[str] = BRAT
    else:
        check_file(path)
        known = format_from_name(path, format)
    source = Source(path, columns=columns, labels=labels)
    report = source.report
    if known == SPACY:
        docs = _read_docs_of_spacy(path, nlp, report)
    else:
        source.kind = known if known in JSON_KINDS else None
        is_asked = format not in (None, "auto")
        records = _read_records(source, known, is_asked)
        docs = _build_docs(records, nlp, source, progress)
    filled = [doc for doc in docs if len(doc)]
    report.skipped += Counter({EMPTY_TEXTS: len(docs) - len(filled)})
    if not any(doc.has_annotation("ENT_IOB") for doc in filled):
        told = [count_of(n, reason) for reason, n in report.skipped.items() if n]
        left_out = f" (left out: {', '.join(told)})" if told else ""
        unread = [f"{what}: {n}" for what, n in report.noted.items()]
        problem = f"no annotated docs in {len(filled)} read{left_out}"
        hint = "; ".join(["add tags or spans", *unread])
        raise DataError(f"{problem}: {hint}", path=path)
    report.docs, report.words = len(filled), sum(map(len, filled))
    report.entities.update(ent.label_ for doc in filled for ent in doc.ents)
    return filled, report


def _read_records(
    source: Source, format: Optional[str], is_asked: bool
) -> Sequence[Record]:
    """The records of a file. format: That which is asked for, or else that of the
    extension, beside which there may be others; None: the content tells."""
    path = source.path
    form = BY_NAME.get(JSON if format in JSON_KINDS else str(format))
    if form is None or (form.is_text and not path.is_dir()):
        # Each time anew: a small packed file may hold a billion blank lines.
        if not any(line.strip() for _, line in read_lines(path)):
            raise DataError(_EMPTY, path=path)
        if form is None or not is_asked:
            form = BY_NAME[format_from_content(read_lines(path), path)]
    return form.read(read_lines(path), source)


def _read_docs_of_spacy(path: Path, nlp: Language, report: CorpusReport) -> list[Doc]:
    docs = read_docbin(path, nlp)
    report.understood, report.unit = "spaCy's binary form", "docs"
    for number, doc in enumerate(docs, 1):
        with located(path, what=f"doc {number}: "):
            for ent in doc.ents:
                check_label(ent.label_)
        for example in unread_spans(doc)[:1]:
            report.note(UNREAD_SPANS, f"{example}, doc {number}")
    return docs


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
            if size > max(_FREE_BYTES, _MAX_EXPANSION * len(data)):
                problem = f"unpacks to more than {size:,} bytes: no DocBin of text does"
                raise DataError(problem, path=path)
    except zlib.error:
        return  # which is told where it is read


def _build_docs(
    records: Sequence[Record],
    nlp: Language,
    source: Source,
    progress: Optional[Progress],
) -> list[Doc]:
    report = source.report
    words = [record for record in records if isinstance(record, WordRecord)]
    if words and len(words) == len(records):
        report.unit = "sentences"
    words = normalize_tags(words, report)
    rest = iter(words)
    records = join_tags(records)
    records = [next(rest) if isinstance(x, WordRecord) else x for x in records]
    prefixed = find_prefixed(tag for record in words for tag in record.tags)
    for record in words:
        for tag, line in zip(record.tags, record.lines):
            with source.located(Place(line, record.unit)):
                parse_tag(tag, prefixed)
    with located(source.path):
        check_classes(records)
        check_prefixes(words)
        if source.columns is None:
            check_outside(words, prefixed)
    docs = []
    for one in records if progress is None else progress(records):
        number = next(iter(one.lines), 0) if isinstance(one, WordRecord) else one.number
        with source.located(Place(number, one.unit), REFUSED):
            if isinstance(one, WordRecord):
                docs.append(_word_doc(one, nlp, prefixed, report))
            else:
                docs.append(text_doc(one, nlp, report))
    return docs


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


def text_doc(record: TextRecord, nlp: Language, report: CorpusReport) -> Doc:
    if not record.text.strip():
        return Doc(nlp.vocab)
    doc = nlp.make_doc(record.text)
    # Offsets of characters serve as well as those of words.
    longest = cast(Any, filter_spans)(record.spans)
    report.overlapping += len(record.spans) - len(longest)
    entities: list[Span] = []
    missing = {i for place in record.missing for i in _touched(doc, *place)}
    for start, end, label in longest:
        entity = doc.char_span(start, end, label=label)
        if entity is not None and not entity.text.isspace():
            if missing.isdisjoint(range(entity.start, entity.end)):
                entities.append(entity)
            else:
                place = f"{record.unit} {record.number}"
                report.note(COVERED, f"{entity.text!r:.60} ({label}), {place}")
            continue
        words = _touched(doc, start, end)
        context = doc[words.start : words.stop].text if words else record.text
        report.misaligned[label] += 1
        report.shifted.update(fitting_shifts(doc, start, end))
        if len(report.misaligned_examples) < N_EXAMPLES:
            report.misaligned_examples.append(
                f"{record.text[start:end]!r:.100} ({label}) in {context!r:.100}, "
                f"{record.unit} {record.number}"
            )
        missing.update(words)
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in sorted(missing)])
    return doc


def _touched(doc: Doc, start: int, end: int) -> range:
    """The tokens that a place of the text touches."""
    found = doc.char_span(start, end, alignment_mode="expand")
    return range(0) if found is None else range(found.start, found.end)
