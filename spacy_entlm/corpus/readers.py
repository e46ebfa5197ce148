"""Annotated files of any supported format to spaCy Docs."""

from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    cast,
)

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

from ..files.errors import DataError
from ..files.text import check_file, read_bytes, read_lines
from .formats import CONLL, INLINE, JSONL, SPACY, format_from_content, format_from_name
from .records import (
    CharSpan,
    Parser,
    Record,
    TextRecord,
    WordRecord,
    parse_conll,
    parse_inline,
    parse_jsonl,
)
from .report import BLANK_WORDS, EMPTY_TEXTS, CorpusReport
from .tags import check_label, find_prefixed, parse_tag, tags_to_entities

_EMPTY = "the file is empty: add annotated sentences"
# Wraps what is gone through, eg to show a progress bar.
Progress = Callable[[Sequence[Any]], Iterable[Any]]

_PARSERS: Dict[str, Parser]
_PARSERS = {CONLL: parse_conll, JSONL: parse_jsonl, INLINE: parse_inline}


def read_docs(
    path: Union[str, Path],
    nlp: Language,
    *,
    format: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> Tuple[List[Doc], CorpusReport]:
    """Read an annotated file.

    Word lists become Docs with a space after each word and has_unknown_spaces set, so
    that spaCy trains and scores on these words and does not tokenise them again.

    path (Union[str, Path]): The file: columns, JSON lines, inline markup or DocBin.
    nlp (Language): Gives the vocab, and the tokenizer for texts.
    format (Optional[str]): "conll", "jsonl", "inline" or "spacy"; "auto" or None
        tells it from the extension and the content.
    progress (Optional[Progress]): Called with the list of records, returns what to
        iterate over in its place.
    RETURNS (Tuple[List[Doc], CorpusReport]): Docs with doc.ents set, and the counts.
    RAISES (DataError): If the file cannot be read or holds bad data; the message
        names file, line, value and what to do.
    """
    path = Path(path)
    check_file(path)
    format = format_from_name(path, format)
    report = CorpusReport()
    if format == SPACY:
        docs = _filled_docs(read_docbin(path, nlp), path, report)
    else:
        lines = [line for _, line in read_lines(path)]
        if not any(line.strip() for line in lines):
            raise DataError(_EMPTY, path=path)
        parse = _PARSERS[format or format_from_content(lines, path)]
        records = parse(lines, path, report)
        docs = _build_docs(records, nlp, path, report, progress)
    if not any(doc.has_annotation("ENT_IOB") for doc in docs):
        skipped = ", ".join(f"{n} {reason}" for reason, n in report.skipped.items())
        raise DataError(
            f"no annotated docs in {len(docs)} read"
            + (f" (left out: {skipped})" if skipped else "")
            + ": add tags or spans",
            path=path,
        )
    report.count_docs(docs)
    return docs, report


def read_docbin(path: Path, nlp: Language) -> List[Doc]:
    """Read all Docs of a DocBin, empty ones too, annotated or not.

    RAISES (DataError): If it cannot be read, is no DocBin, or a damaged one.
    """
    data = read_bytes(path)
    if not data.strip():
        raise DataError(_EMPTY, path=path)
    try:
        return list(DocBin().from_bytes(data).get_docs(nlp.vocab))
    # Any exception: damaged bytes fail wherever zlib, msgpack, numpy or the Doc first
    # stumble over them, with errors of every kind.
    except Exception as error:
        raise DataError(
            f"no DocBin, or a damaged one ({type(error).__name__}): write it again "
            "with DocBin.to_disk or the convert command",
            path=path,
        ) from error


def _filled_docs(docs: List[Doc], path: Path, report: CorpusReport) -> List[Doc]:
    for number, doc in enumerate(docs, 1):
        try:
            for ent in doc.ents:
                check_label(ent.label_)
        except ValueError as error:
            raise DataError(f"doc {number}: {error}", path=path) from error
    filled = [doc for doc in docs if len(doc)]
    _count(report, EMPTY_TEXTS, len(docs) - len(filled))
    return filled


def _build_docs(
    records: Sequence[Record],
    nlp: Language,
    path: Path,
    report: CorpusReport,
    progress: Optional[Progress],
) -> List[Doc]:
    word_records = [record for record in records if isinstance(record, WordRecord)]
    prefixed = find_prefixed(tag for record in word_records for tag in record.tags)
    _check_labels(records, prefixed, path)
    docs = []
    for record in records if progress is None else progress(records):
        try:
            if isinstance(record, WordRecord):
                doc = _word_doc(record, nlp, prefixed, report)
            else:
                doc = _text_doc(record, nlp, report)
        # A lone surrogate, or a text that is too long for the pipeline.
        except ValueError as error:
            line = record.line if isinstance(record, TextRecord) else record.lines[0]
            raise DataError(
                f"spaCy refuses this text: {error}", path=path, line=line
            ) from error
        if doc is None:
            _count(report, EMPTY_TEXTS, 1)
        else:
            docs.append(doc)
    return docs


def _check_labels(
    records: Iterable[Record], prefixed: Optional[str], path: Path
) -> None:
    known: Set[Tuple[bool, str]] = set()
    for record in records:
        is_words = isinstance(record, WordRecord)
        if isinstance(record, WordRecord):
            given = list(zip(record.tags, record.lines))
        else:
            given = [(span.label, record.line) for span in record.spans]
        for value, line in given:
            if (is_words, value) in known:
                continue
            try:
                label = parse_tag(value, prefixed).label if is_words else value
                if label or not is_words:
                    check_label(label)
            except ValueError as error:
                raise DataError(str(error), path=path, line=line) from error
            known.add((is_words, value))


def _word_doc(
    record: WordRecord, nlp: Language, prefixed: Optional[str], report: CorpusReport
) -> Optional[Doc]:
    kept = [i for i, word in enumerate(record.words) if word.strip()]
    _count(report, BLANK_WORDS, len(record.words) - len(kept))
    if not kept:
        return None
    doc = Doc(nlp.vocab, words=[record.words[i] for i in kept])
    spans, missing = tags_to_entities([record.tags[i] for i in kept], prefixed)
    entities = [Span(doc, *span) for span in spans]
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in missing])
    return doc


def _text_doc(record: TextRecord, nlp: Language, report: CorpusReport) -> Optional[Doc]:
    if not record.text.strip():
        return None
    doc = nlp.make_doc(record.text)
    # Offsets of characters serve as well as those of words.
    longest: List[CharSpan] = cast(Any, filter_spans)(record.spans)
    report.overlapping += len(record.spans) - len(longest)
    entities: List[Span] = []
    missing: Set[int] = set()
    for start, end, label in longest:
        entity = doc.char_span(start, end, label=label)
        if entity is not None:
            entities.append(entity)
            continue
        touched = doc.char_span(start, end, alignment_mode="expand")
        context = record.text if touched is None else touched.text
        report.add_misaligned(
            label,
            f"{record.text[start:end]!r} ({label}) in {context!r}, line {record.line}",
        )
        if touched is not None:
            missing.update(range(touched.start, touched.end))
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in sorted(missing)])
    return doc


def _count(report: CorpusReport, reason: str, count: int) -> None:
    # No entry for nothing: the report lists what did occur.
    if count:
        report.skipped[reason] += count
