"""The command `convert`: annotated files to .spacy or JSON lines."""

import re
from collections import Counter
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from spacy.tokens import Doc
from weasel.util import get_checksum

from ..backbones.names import resolve_backbone
from ..corpus.docs import choose_writer, write_docs
from ..corpus.file_format import EXTENSIONS
from ..corpus.forms.out import BY_NAME, WRITERS, lacks_annotation
from ..corpus.reading_report import CorpusReport
from ..decoding.lines import BROKEN, broken_entities, classes_over_lines
from ..files.counts import sentence_of
from ..files.errors import DataError
from ..files.file import check_output, write_file
from ..files.folder import check_folder, check_output_folder, write_folder
from ..files.json_lines import dump_json
from ..files.text import find_forms, find_part
from ._classes import names_in
from ._options import COLUMNS, FORMAT, LABELS, LANG, OUT, OVERWRITE, arg, command, opt
from ._util import echo, load_docs

# Beside these, a data folder may hold samples that are given, {K}shot/{split}.*.
PARTS = ("train", "dev", "test")
DISTANT = "distant"
SAMPLES = re.compile(r"(\d+|all)shot")
# What later steps of the project cannot see in the parts.
NAMES_FILE, BACKBONE_FILE = "data.json", "backbone.json"


@command("convert")
def convert_cli(
    input_path: Path = arg("IN", "Annotated file, or a folder of data"),
    output_path: Path = OUT,
    format: str = FORMAT,
    lang: str = LANG,
    columns: Optional[str] = COLUMNS,
    labels: Optional[str] = LABELS,
    to: Optional[str] = opt(
        None, f"Form of OUT; if not given, its name tells: {', '.join(BY_NAME)}"
    ),
    backbone: Optional[str] = opt(
        None,
        f"Note in OUT/{BACKBONE_FILE} which model it is, so that the project trains "
        "anew if it changes",
    ),
    overwrite: bool = OVERWRITE,
) -> None:
    """Convert annotated data to spaCy's .spacy format, or to another form.

    It reads columns (.conll .iob .bio .tsv .txt; IO, BIO, BILUO and BIOES tags), JSON
    lines of words and tags or of a text and spans (.jsonl, Prodigy's too), what Label
    Studio and Argilla export (.json), inline markup (.txt .md) and .spacy. docs/data.md
    lists more forms. One line says what was understood. What cannot be used is counted
    and shown.

    If IN is a folder, its train.*, dev.*, test.*, distant.* (text that is annotated
    already) and samples {K}shot/{split}.* are converted, as far as they are there.

    \b
    Example:
      python -m spacy entlm convert train.conll train.spacy
      python -m spacy entlm convert my_data corpus
      python -m spacy entlm convert tagged.tsv train.spacy --columns 2,4
      python -m spacy entlm convert train.spacy tasks.json --to label-studio

    \b
    Inline markup is one sentence a line:
      [Angela Ruiz](PER) flew to [Lima](LOC).
    """
    read = Reading(lang, format, columns, names_in(labels))
    if _is_folder_of_parts(input_path, output_path):
        check_folder(input_path)
        check_output_folder(output_path, source=input_path, overwrite=overwrite)
        _convert_folder(input_path, output_path, read, backbone, overwrite)
        return
    writer = choose_writer(output_path, to)
    check_output(output_path, source=input_path, overwrite=overwrite)
    docs, report = read(input_path)
    report.check_marks(input_path)
    with write_file(output_path, overwrite=overwrite) as temporary:
        write_docs(docs, temporary, writer.name)
    echo(*report.lines(), *_broken_lines(docs))
    lacking = sum(map(lacks_annotation, docs))
    if lacking and not writer.says_missing:
        has = sentence_of(lacking, "text has", "texts have")
        echo(f"{has} words that nobody annotated: they are written as of no entity")
    echo(f"Wrote {output_path}")


def _broken_lines(docs: List[Doc]) -> List[str]:
    broken = broken_entities(docs, classes_over_lines(docs))
    return [f"{BROKEN}: {len(broken)}, eg {broken[0]}"] if broken else []


def _is_folder_of_parts(source: Path, out: Path) -> bool:
    """Whether IN is no file, and OUT is to be a folder: brat's folders are one text."""
    is_file = source.exists() and not source.is_dir()
    extensions = {x for writer in WRITERS for x in writer.extensions}
    return not is_file and out.suffix.lower() not in extensions


class Reading(NamedTuple):
    """How files are read: values of the options of the same names."""

    lang: str
    format: str
    columns: Optional[str]
    labels: List[str]

    def __call__(self, path: Path) -> Tuple[List[Doc], CorpusReport]:
        """RAISES (DataError): If it cannot be read."""
        how = {"columns": self.columns, "labels": self.labels}
        return load_docs(path, self.lang, self.format, **how)


def _convert_folder(
    data: Path, out: Path, read: Reading, backbone: Optional[str], overwrite: bool
) -> None:
    """Write the parts that a folder of data has, and remove those that it had."""
    parts = _find_parts(data, read.format)
    if not parts:
        text = f"has no train.* or test.* ({' '.join(EXTENSIONS)}): add it"
        raise DataError(text, path=data)
    if "test" not in parts:
        echo(f"{data} has no test part: F1 will not be measured")
    doubts = _Doubts()
    with write_folder(out, overwrite=overwrite) as writing:
        for name, source in parts.items():
            docs, report = read(source)
            _check_part(name, source, report, read.lang)
            doubts.note(name, docs)
            target = writing / f"{name}.spacy"
            target.parent.mkdir(exist_ok=True)
            write_docs(docs, target)
            echo(f"{source}:", *report.lines(), *_broken_lines(docs))
            if report.misaligned.total() > report.entities.total():
                echo(
                    "Most marks do not begin and end at a token boundary: is --lang "
                    f"{read.lang} right?"
                )
        names = sorted(path.name for path in data.iterdir() if path.is_file())
        (writing / NAMES_FILE).write_bytes(dump_json(names))
        if backbone is not None:
            folder = Path(resolve_backbone(backbone))
            checksum = get_checksum(folder) if folder.exists() else None
            noted = dump_json({"name": backbone, "checksum": checksum})
            (writing / BACKBONE_FILE).write_bytes(noted)
    echo(*doubts.lines(), f"Wrote {', '.join(parts)} to {out}")


def _check_part(name: str, source: Path, report: CorpusReport, lang: str) -> None:
    """RAISES (DataError): If a part has no entity, and needs some."""
    report.check_marks(source)
    if report.entities or name in ("dev", "test"):
        return
    hint = "no entity in it: mark some, for instance [Lima](LOC)"
    if report.misaligned:
        hint = "no entity begins and ends with a word of the tokenizer"
        hint += f": is --lang {lang} right? {report.misaligned_examples[0]}"
    raise DataError(hint, path=source)


class _Doubts:
    """What makes figures of the test part doubtful, from the Docs of all parts."""

    def __init__(self) -> None:
        self.learned: Set[str] = set()
        self.texts: Set[str] = set()
        self.tested: Counter[str] = Counter()
        self.test_texts: List[str] = []

    def note(self, name: str, docs: List[Doc]) -> None:
        """name (str): Of the part: "train", "test", "5shot/1" and so on."""
        labels = [ent.label_ for doc in docs for ent in doc.ents]
        # Columns say nothing of the space before a full stop.
        texts = ["".join(doc.text.split()) for doc in docs if doc.ents]
        if name == "test":
            self.tested.update(labels)
            self.test_texts += texts
        elif name not in ("dev", DISTANT):
            self.learned.update(labels)
            self.texts.update(texts)

    def lines(self) -> List[str]:
        """In short lines; what did not occur is not mentioned."""
        lines = []
        lacking = sorted(set(self.tested) - self.learned) if self.learned else []
        if lacking:
            counts = ", ".join(f"{label} {self.tested[label]:,}" for label in lacking)
            lines.append(f"Classes of the test part that no example has: {counts}")
        if known := sum(text in self.texts for text in self.test_texts):
            lines.append(
                f"Test sentences with entities that are examples, too: {known:,} of "
                f"{len(self.test_texts):,}. F1 tells less of other text"
            )
        return lines


def _find_parts(data: Path, format: str) -> Dict[str, Path]:
    """Names of the annotated parts, such as "train" or "5shot/1", and their files.
    format (str): Of a text in several forms, one that may have it comes first."""
    names = list(PARTS)
    for folder in sorted(data.glob("*shot")):
        if not SAMPLES.fullmatch(folder.name):
            continue
        stems = {path.name.split(".")[0] for path in folder.glob("*.*")}
        # A note beside the samples is none.
        names += [f"{folder.name}/{x}" for x in sorted(stems) if x.isdecimal()]
    found = {name: find_part(data, name, EXTENSIONS) for name in names}
    # Published as one text in several forms: nothing is measured on it.
    named = format != "auto"
    fit = [ext for ext, kind in EXTENSIONS.items() if named and kind in (format, None)]
    forms = find_forms(data, DISTANT, dict.fromkeys([*fit, *EXTENSIONS]))
    if len(forms) > 1:
        others = ", ".join(path.name for path in forms[1:])
        echo(f"{data}: {forms[0].name} is read, not {others}")
    found[DISTANT] = forms[0] if forms else None
    return {name: path for name, path in found.items() if path is not None}
