"""Annotated files, texts and configs from anybody: a clear error in little time and
memory. What any short file holds, tests/corpus/test_any_input.py tries."""

import gzip
import json
import lzma
import zlib

import numpy
import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.texts import read_texts
from spacy_entlm.evaluation.compare.config import fill_fields, read_config
from spacy_entlm.files import text as text_module
from spacy_entlm.files.errors import DataError
from spacy_entlm.label_words.words import read_label_words
from spacy_entlm.teaching.lines import read_marked_lines

NLP = spacy.blank("xx")
LONG = "x" * 1_000_000
PART = 2**20


@pytest.fixture
def error_of(tmp_path, at_most):
    """The error about a file, which is one line of bounded length."""

    def error_of(name, content, read=lambda path: read_docs(path, NLP), **limits):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(ValueError) as caught, at_most(**{"seconds": 60, **limits}):
            read(path)
        message = str(caught.value)
        assert message.startswith(str(path)), message
        assert len(message) < len(str(path)) + 1200 and "\n" not in message
        return message.removeprefix(str(path))

    return error_of


def bomb(name, content, n_mib):
    """A packed file of much of the same."""
    part = content * (PART // len(content))
    if name.endswith("xz"):
        packer = lzma.LZMACompressor(preset=0)
        parts = [packer.compress(part) for _ in range(n_mib)]
        return b"".join([*parts, packer.flush()])
    if name.endswith("gz"):
        return gzip.compress(part * n_mib, 1)
    packer = zlib.compressobj(1)
    parts = [packer.compress(part) for _ in range(n_mib)]
    return b"".join([*parts, packer.flush()])


@pytest.mark.parametrize("pack", ["xz", "gz"])
@pytest.mark.parametrize("content", [b"\0", b"x", b"a "])
@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.txt"])
def test_packed_line_of_any_length_takes_little_memory(error_of, pack, name, content):
    packed = bomb(pack, content, 20)
    message = error_of(f"{name}.{pack}", packed, megabytes=80)
    assert message.startswith(", line 1: has more than 16,777,216 characters: divide")


@pytest.mark.parametrize("name", ["a.conll.xz", "a.jsonl.gz", "a.txt.xz"])
def test_any_number_of_blank_lines_takes_little_memory(error_of, name):
    message = error_of(name, bomb(name, b"\n", 1), megabytes=5)
    assert message == ": the file is empty: add annotated sentences"


def test_lines_after_many_blank_ones_have_their_number(error_of):
    message = error_of("a.jsonl.gz", gzip.compress(b"\n" * PART + b"["))
    assert message.startswith(f", line {PART + 1}: broken JSON")


def test_line_may_be_as_long_as_a_text_that_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "MAX_LINE_CHARS", 20)
    path = tmp_path / "a.txt"
    for end in ("", "\n", "\nb"):
        path.write_text("x" * 20 + end)
        assert next(text_module.read_lines(path)) == (1, "x" * 20)
        path.write_text("y\n" + "x" * 21 + end)
        with pytest.raises(DataError, match="line 2: has more than 20 characters"):
            list(text_module.read_lines(path))


def test_plain_text_of_one_line_is_read_in_parts(tmp_path, at_most):
    path = tmp_path / "a.txt.xz"
    path.write_bytes(bomb("xz", b"ab ", 30))
    with at_most(60, 30):
        assert sum(map(len, read_texts([path]))) > 3 * 10**7


@pytest.mark.parametrize("content", [b"\0", srsly.msgpack_dumps({"a": "a" * 9999})])
def test_docbin_that_unpacks_to_gigabytes_takes_little_memory(error_of, content):
    message = error_of("a.spacy", bomb("spacy", content, 300), megabytes=60)
    assert "unpacks to more than 2" in message


def test_docbin_of_repeated_words_is_none_of_these(tmp_path):
    docs = [NLP.make_doc("red " * 2000)] * 100
    for doc in docs:
        doc.set_ents([])
    DocBin(docs=docs).to_disk(tmp_path / "a.spacy")
    assert len(read_docs(tmp_path / "a.spacy", NLP)[0]) == 100


def docbin(**changes):
    """A DocBin of one Doc with one entity, with other parts."""
    doc = NLP.make_doc("Ann left Rome")
    doc.set_ents([doc.char_span(0, 3, "PER")])
    content = srsly.msgpack_loads(zlib.decompress(DocBin(docs=[doc]).to_bytes()))
    tokens = numpy.frombuffer(content["tokens"], "uint64").reshape(3, -1).copy()
    for key, value in changes.items():
        content[key] = value(tokens) if callable(value) else value
    return zlib.compress(srsly.msgpack_dumps(content))


@pytest.mark.parametrize(
    "changes",
    [
        {"strings": []},
        {"strings": ["Ann", "left", "Rome"]},
        {"strings": 3},
        {"tokens": b""},
        {"tokens": lambda tokens: tokens[:, ::-1].tobytes()},
        {"tokens": lambda tokens: numpy.full_like(tokens, 2**64 - 1).tobytes()},
        {"tokens": lambda tokens: numpy.full_like(tokens, 2**31).tobytes()},
        {"spaces": b""},
        {"lengths": numpy.array([2**31 - 1], "int32").tobytes()},
        {"lengths": numpy.array([-1], "int32").tobytes()},
        {"lengths": b""},
        {"attrs": []},
        {"attrs": [10**6] * 10},
        {"span_groups": [b"\xdd\xff\xff\xff\xff"]},
        {"cats": None},
        {"flags": [None]},
    ],
)
def test_docbin_of_other_parts_is_read_or_refused(tmp_path, changes):
    path = tmp_path / "a.spacy"
    path.write_bytes(docbin(**changes))
    try:
        docs, _ = read_docs(path, NLP)
    except DataError as error:
        assert str(error).startswith(str(path))
    else:
        assert all(doc.text and [ent.label_ for ent in doc.ents] for doc in docs)


def test_docbin_as_it_is_made_is_read(tmp_path):
    (tmp_path / "a.spacy").write_bytes(docbin())
    ((doc,), _) = read_docs(tmp_path / "a.spacy", NLP)
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Ann", "PER")]


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.conll", LONG),
        ("a.conll", f"a O\n{LONG} {LONG} O"),
        ("a.conll", f"a Q-{LONG}"),
        ("a.conll", f"a B-{LONG}"),
        ("a.conll", f"a {LONG}"),
        ("a.conll", f"a B-X\nb {LONG}"),
        ("a.md", f"[{LONG}]("),
        ("a.md", f"[{' ' * 10**6}](LOC)"),
        ("a.md", f"[a]({LONG})"),
        ("a.jsonl", LONG),
        ("a.jsonl", json.dumps({LONG: 1})),
        ("a.jsonl", json.dumps({"text": [LONG], "label": LONG})),
        ("a.jsonl", json.dumps({"text": ["a"], "label": [[LONG]]})),
        ("a.jsonl", json.dumps({"text": "a", "spans": LONG})),
        ("a.jsonl", json.dumps({"text": "a", "spans": [LONG]})),
        ("a.jsonl", json.dumps({"text": "a", "spans": [[0, 1, LONG]]})),
        ("a.jsonl", json.dumps({"text": "a", "spans": [[0, 10**4000, "X"]]})),
        ("a.jsonl", '{"text": "a", "spans": [[0, 1' + "0" * 5000 + ', "X"]]}'),
        ("a.jsonl", json.dumps({"text": LONG * 2, "spans": []})),
        ("a.txt", LONG),
        ("a.csv", LONG),
    ],
)
def test_error_shows_the_beginning_of_a_long_value(error_of, name, content):
    message = error_of(name, content)
    assert message.count("x") < 600


@pytest.mark.parametrize("read", [lambda path: list(read_texts([path]))])
def test_error_about_a_text_is_short(error_of, read):
    error_of("a.jsonl", json.dumps({"a": LONG}), read)
    error_of("a.jsonl", json.dumps([LONG]), read)


@pytest.mark.parametrize(
    "content", [[LONG], {LONG: 3}, {"A": LONG}, {"A": [3, LONG]}, {"": LONG}, LONG]
)
def test_error_about_label_words_is_short(error_of, content):
    error_of("a.json", json.dumps(content), read_label_words)


@pytest.mark.parametrize(
    "entry",
    [
        {"text": 3, LONG: 3},
        {"text": [LONG]},
        {"text": "a", "spans": LONG},
        {"text": "a", "spans": [LONG]},
        {"text": "a", "spans": [{"start": 0, "end": LONG, "label": "x"}]},
        {"text": "a", "spans": [{"start": 0, "end": 1, "kinds": LONG}]},
        {"text": "a", "spans": [{"start": 0, "end": 10**4000, "kinds": ["x"]}]},
        {"text": "a", "labels": LONG},
    ],
)
def test_error_about_a_marked_line_is_short(error_of, entry):
    def read(path):
        return list(read_marked_lines([path]))

    assert error_of("a.jsonl", json.dumps(entry), read).count("x") < 600


@pytest.mark.parametrize("entity", [[3, 0], [0, 0], [-1, 2], [0, 99], [2, 1]])
def test_span_that_is_none_is_refused(error_of, entity):
    line = json.dumps({"text": "a  b", "spans": [[*entity, "X"]]})
    assert "does not lie in its text" in error_of("a.jsonl", line)


@pytest.mark.parametrize("entity", [[1, 3], [0, 2], [1, 4], [2, 3]])
def test_span_on_white_space_is_misaligned_or_an_entity(tmp_path, entity):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "a  b", "spans": [[*entity, "X"]]}))
    (doc,), report = read_docs(path, NLP)
    assert len(doc.ents) + report.misaligned.total() == 1
    assert not any(ent.text.isspace() for ent in doc.ents)


def test_many_classes_are_read_in_time(tmp_path, at_most):
    n = 20_000
    words, labels = [f"w{i}" for i in range(n)], [f"B-L{i}" for i in range(n)]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": words, "label": labels}))
    with at_most(60):
        (doc,), report = read_docs(path, NLP)
    assert len(report.entities) == len(doc.ents) == n


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.md"])
def test_marks_and_controls_within_a_file_are_characters(tmp_path, name):
    word = "a\ufeff\0b\x1b"
    content = {
        "a.conll": f"{word} B-PER\n",
        "a.jsonl": json.dumps({"text": [word], "label": ["B-PER"]}),
        "a.md": f"[{word}](PER)",
    }[name]
    (tmp_path / name).write_text("\ufeff" + content, encoding="utf8")
    (doc,), _ = read_docs(tmp_path / name, NLP)
    assert [ent.text for ent in doc.ents] == [word]


# Configs of a comparison


@pytest.mark.parametrize(
    "argument",
    ["{shots:9999999999}", "{shots!r}", "{shots.real}", "{python[0]}", "{", "}", "{}"],
)
def test_field_that_has_more_than_a_name_is_refused(argument, at_most):
    with pytest.raises(ValueError), at_most(5, 10):
        fill_fields(argument, {"shots": 5, "python": "p"})
    assert fill_fields("a{{b}}/{shots}", {"shots": 5}) == "a{b}/5"


LAUGHS = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i + 1}: &a{i + 1} {{p: *a{i}, q: *a{i}, r: *a{i}}}\n" for i in range(40)
)


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS,
        "a: &a [*a, *a]\n",
        "a: &a {b: *a}\n",
        "[" * 2000,
        "{a: " * 2000,
        "!!python/object/apply:os.system ['false']",
        "a: !!python/name:os.system",
        f"{LONG}: 1",
        f"datasets: {LONG}",
        f"datasets: {{a: {LONG}}}",
        f"methods: [{LONG}]",
        "a: \0",
        b"\xff\xfe\x00",
        "3",
    ],
)
def test_config_of_another_form_is_refused(error_of, content):
    error_of("a.yml", content, read_config)
