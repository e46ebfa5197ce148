"""Every form of the table is read from its example; forms of JSON, brat and others."""

import json
from pathlib import Path

import pytest

from spacy_entlm.corpus.forms.all_forms import FORMS, JSON_KINDS
from spacy_entlm.corpus.forms.out import WRITERS
from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import FOUND, TAGS, TEXT, WORDS, entities, jsonl, words

# The table


def examples():
    for form in FORMS:
        if form.is_text:
            for extension in form.extensions:
                yield pytest.param(form, extension, id=f"{form.name}{extension}")


@pytest.mark.parametrize("form, extension", list(examples()))
def test_the_example_of_a_form_is_told_and_read(read, nlp, tmp_path, form, extension):
    if form.name == "brat":
        (tmp_path / "a.txt").write_text("Ann flew.")
        (tmp_path / "a.ann").write_text(form.example)
        docs, report = read_docs(tmp_path / f"a{extension}", nlp)
    else:
        tabbed = (form.name, extension) == ("csv", ".tsv")
        example = form.example.replace(",", "\t") if tabbed else form.example
        docs, report = read(f"a{extension}", example + "\n")
    assert report.entities.total() >= 1
    again, _ = read_docs(tmp_path / f"a{extension}", nlp, format=form.name)
    assert [entities(doc) for doc in again] == [entities(doc) for doc in docs]


@pytest.mark.parametrize("kind", JSON_KINDS.values(), ids=list(JSON_KINDS))
@pytest.mark.parametrize("is_list", [False, True])
def test_the_example_of_a_json_form_is_told_and_read(read, kind, is_list):
    text = f"[{kind.example}]" if is_list else kind.example
    (doc,), report = read("a.json" if is_list else "a.jsonl", text + "\n")
    assert entities(doc) == [("Ann", "PER")]
    assert report.understood == kind.title
    (doc,), _ = read("a.json" if is_list else "a.jsonl", text, format=kind.name)
    assert entities(doc) == [("Ann", "PER")]


def test_another_form_than_was_asked_for_is_an_error(error_of):
    message = error_of("a.jsonl", jsonl({"text": TEXT}), format="gliner")
    assert "not of the form gliner" in message


# Hugging Face, TNER, GLiNER


@pytest.mark.parametrize("key", ["ner_tags", "tags", "labels"])
def test_tokens_and_tags_are_read(read, key):
    entry = {"id": "0", "tokens": WORDS, key: TAGS, "pos_tags": [1, 2, 3, 4, 5]}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert (words(doc), entities(doc)) == (WORDS, FOUND)
    assert not report.problems()


NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
NUMBERS = [1, 2, 0, 3, 0]
FEATURE = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}


@pytest.mark.parametrize(
    "name, value",
    [
        ("label.json", {name: i for i, name in enumerate(NAMES)}),
        ("labels.json", NAMES),
        ("id2label.json", {str(i): name for i, name in enumerate(NAMES)}),
        (
            "dataset_info.json",
            {"features": {"pos": {"names": ["X"]}, "ner_tags": FEATURE}},
        ),
    ],
)
def test_numbers_of_tags_take_their_names_from_a_file_beside(
    read, tmp_path, name, value
):
    (tmp_path / name).write_text(json.dumps(value))
    entry = {"tokens": WORDS, "ner_tags": NUMBERS}
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert entities(doc) == FOUND


def test_numbers_of_tags_can_be_named_and_need_names(read, error_of):
    entry = jsonl({"tokens": WORDS, "ner_tags": [*NUMBERS[:-1], -100]})
    (doc,), _ = read("a.jsonl", entry, labels=NAMES)
    assert entities(doc) == FOUND and doc[-1].ent_iob_ == ""
    assert "--labels O,B-PER,I-PER" in error_of("a.jsonl", entry)
    assert "holds 2, of 2 names" in error_of("a.jsonl", entry, labels=NAMES[:2])


def test_gliner_counts_the_last_word_in(read, error_of):
    entry = {"tokenized_text": WORDS, "ner": [[0, 1, "PER"], [3, 3, "LOC"]]}
    (doc,), _ = read("a.json", json.dumps([entry]))
    assert entities(doc) == FOUND
    inner = {**entry, "ner": [*entry["ner"], [0, 0, "X"]]}
    (doc,), report = read("a.jsonl", jsonl(inner))
    assert entities(doc) == FOUND and report.overlapping == 1
    assert "do not lie in 5 words" in error_of(
        "a.jsonl", jsonl({**entry, "ner": [[4, 5, "X"]]})
    )
    assert "is no [first word" in error_of("a.jsonl", jsonl({**entry, "ner": [["a"]]}))


# spaCy's older forms, doccano, DataTurks, manifests, Rasa


def test_lists_of_pairs_are_read(read):
    pair = [TEXT, {"entities": [[0, 9, "PER"], [15, 23, "LOC"]]}]
    for name, text in [
        ("a.json", json.dumps([pair, ["It rained.", {"entities": []}]])),
        ("a.jsonl", f"{json.dumps(pair)}\n" * 2),
        ("a.json", json.dumps({"classes": ["PER"], "annotations": [pair, None]})),
    ]:
        docs, _ = read(name, text)
        assert entities(docs[0]) == FOUND


def test_spacy_json_has_documents_of_paragraphs(read):
    tokens = [
        {"id": i, "orth": word, "tag": "X", "ner": tag}
        for i, (word, tag) in enumerate(
            zip(WORDS, ["B-PER", "L-PER", "O", "U-LOC", "-"])
        )
    ]
    paragraph = {"raw": TEXT, "sentences": [{"tokens": tokens, "brackets": []}]}
    docs, report = read(
        "a.json", json.dumps([{"id": 0, "paragraphs": [paragraph] * 2}])
    )
    assert [entities(doc) for doc in docs] == [FOUND] * 2
    assert docs[0][4].ent_iob_ == "" and report.unit == "sentences"
    marked = {"raw": TEXT, "entities": [[0, 9, "PER"], [15, 23, "LOC"]]}
    (doc,), _ = read("a.json", json.dumps([{"id": 0, "paragraphs": [marked]}]))
    assert entities(doc) == FOUND


def test_doccanos_older_form_has_numbers_for_classes(read, error_of, tmp_path):
    marks = [
        {"id": 1, "label": 8, "start_offset": 0, "end_offset": 9, "user": 1},
        {"id": 2, "label": 7, "start_offset": 15, "end_offset": 23, "user": 1},
    ]
    entry = jsonl({"id": 1, "text": TEXT, "annotations": marks, "meta": {}})
    assert "label_config.json" in error_of("a.jsonl", entry)
    names = [{"id": 7, "text": "LOC"}, {"id": 8, "text": "PER", "suffix_key": "p"}]
    (tmp_path / "label_config.json").write_text(json.dumps(names))
    (doc,), _ = read("a.jsonl", entry)
    assert entities(doc) == FOUND


def test_dataturks_counts_the_last_character_in(read, error_of):
    marks = [
        {"label": ["PER"], "points": [{"start": 0, "end": 8, "text": "Mira Holt"}]},
        {"label": ["LOC"], "points": [{"start": 15, "end": 22, "text": "Ulmstadt"}]},
    ]
    entry = {"content": TEXT, "annotation": marks, "extras": None}
    empty = {"content": "It rained.", "annotation": None}
    docs, _ = read("a.json", jsonl(entry, empty))
    assert [entities(doc) for doc in docs] == [FOUND, []]
    bad = {"content": TEXT, "annotation": [{"label": ["X"], "points": [{"start": 0}]}]}
    assert "needs whole numbers" in error_of("a.jsonl", jsonl(bad))


def test_manifests_are_read_and_failures_counted(read):
    marks = [
        {"label": "PER", "startOffset": 0, "endOffset": 9},
        {"label": "LOC", "startOffset": 15, "endOffset": 23},
    ]
    entry = {
        "source": TEXT,
        "job": {"annotations": {"entities": marks, "labels": [{"label": "PER"}]}},
        "job-metadata": {"type": "groundtruth/text-span"},
    }
    failed = {**entry, "job-metadata": {"failure-reason": "no consensus"}}
    (doc,), report = read("a.manifest", jsonl(entry, failed))
    assert entities(doc) == FOUND
    assert report.skipped == {"texts not accepted by the annotator": 1}


def test_rasa_is_read_in_its_three_forms(read, error_of):
    example = '[Mira Holt]{"entity": "PER", "role": "a"} left [Ulmstadt](LOC:Ulm).'
    markdown = f"## lookup: x\n- [no](NO)\n\n## intent:go\n- {example}\n- hello\n"
    docs, _ = read("a.md", markdown)
    assert [entities(doc) for doc in docs] == [FOUND, []]
    yaml = "version: '3.1'\nnlu:\n- synonym: x\n  examples: |\n    - y\n- intent: go\n"
    yaml += f"  examples: |\n    - {example}\n    - hello\n"
    docs, _ = read("a.yml", yaml)
    assert [entities(doc) for doc in docs] == [FOUND, []]
    spans = [
        {"start": 0, "end": 9, "value": "Mira H.", "entity": "PER"},
        {"start": 15, "end": 23, "value": "Ulm", "entity": "LOC"},
    ]
    data = {"common_examples": [{"text": TEXT, "intent": "go", "entities": spans}]}
    data.update(regex_features=[{"name": "x", "pattern": "y"}], lookup_tables=[])
    (doc,), _ = read("a.json", json.dumps({"rasa_nlu_data": data}))
    assert entities(doc) == FOUND
    assert "broken YAML" in error_of("a.yml", "nlu: [")
    assert 'no "nlu"' in error_of("a.yml", "other: 1\n")
    assert "example 1: " in error_of("a.yml", yaml.replace("(LOC:Ulm)", "(L C)"))


# CoNLL-U, WebAnno, brat, XML


def test_conllu_has_names_in_its_last_column(read):
    rows = [
        f"{i}\t{word}\t_\tX\t_\t_\t0\troot\t_\tSpaceAfter=No|name={tag}"
        for i, (word, tag) in enumerate(zip(WORDS, TAGS), 1)
    ]
    rows.insert(0, "1-2\tMiraHolt\t_\t_\t_\t_\t_\t_\t_\t_")
    text = "\n".join(["# sent_id = 1", "# text = x", *rows, "", ""])
    docs, report = read("a.conllu", text * 2)
    assert [(words(doc), entities(doc)) for doc in docs] == [(WORDS, FOUND)] * 2
    assert "name=..." in report.understood


HEAD = "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.pos.POS|PosValue\n"
HEAD += "#T_SP=webanno.custom.NamedEntity|identifier|value\n#T_RL=webanno.Rel|x|BT_y\n"


def webanno(*cells, head=HEAD):
    lines, at = [], 0
    for i, (word, cell) in enumerate(zip(WORDS, cells), 1):
        lines.append(f"1-{i}\t{at}-{at + len(word)}\t{word}\tNN\t_\t{cell}\t_\t_\t")
        at += len(word) + 1
    return f"{head}\n\n#Text={TEXT}\n" + "\n".join(lines) + "\n"


def test_webanno_reads_the_named_entities(read):
    text = webanno("PER[1]", "PER[1]", "_", "LOC", "_")
    (doc,), report = read("a.tsv", text)
    assert (words(doc), entities(doc)) == (WORDS, FOUND)
    assert report.understood == "WebAnno TSV 3, layer NamedEntity value"


def test_webanno_keeps_neighbours_and_the_longest_of_stacked_spans(read):
    text = webanno("PER[1]|X[2]", "PER[1]", "*[3]", r"A\_B", r"A\_B")
    (doc,), report = read("a.tsv", text)
    assert entities(doc) == [("Mira Holt", "PER"), ("Ulmstadt", "A_B"), (".", "A_B")]
    assert report.overlapping == 1
    assert report.skipped == {"spans without a class": 1}


def test_webanno_without_a_layer_of_entities_is_asked(read, error_of):
    head = HEAD.replace("NamedEntity", "Thing")
    text = webanno("PER[1]", "PER[1]", "_", "LOC", "_", head=head)
    message = error_of("a.tsv", text)
    assert "4 POS PosValue, 5 Thing identifier, 6 Thing value" in message
    (doc,), _ = read("a.tsv", text, columns="3,6")
    assert entities(doc) == FOUND


def write_brat(folder, text, *lines):
    (folder / "a.txt").write_bytes(text.encode())
    (folder / "a.ann").write_text("".join(f"{line}\n" for line in lines))
    return folder / "a.txt"


def test_brat_reads_marks_beside_the_text(nlp, tmp_path):
    text = f"Late news\r\n\r\n{TEXT}\n"
    marks = ["T1\tPER 13 22\tMira Holt", "T2\tLOC 28 36\tUlmstadt"]
    path = write_brat(
        tmp_path, text, *marks, "R1\tin Arg1:T1 Arg2:T2", "#1\tNote T1\tx"
    )
    for one in (path, path.with_suffix(".ann"), tmp_path):
        (doc,), report = read_docs(one, nlp)
        assert entities(doc) == FOUND and not report.problems()


def test_brats_marks_in_pieces_are_counted_and_not_annotated(nlp, tmp_path):
    path = write_brat(
        tmp_path, TEXT, "T1\tPER 0 4;10 14\tMira left", "T2\tLOC 15 23\tUlmstadt"
    )
    (doc,), report = read_docs(path, nlp)
    assert entities(doc) == FOUND[1:]
    assert [token.ent_iob_ for token in doc][:3] == [""] * 3
    assert report.skipped == {"spans in several pieces": 1}


def test_broken_brat_names_the_line(nlp, tmp_path):
    path = write_brat(tmp_path, TEXT, "T1\tPER 0 9\tMira Holt", "T2 LOC 15 23")
    with pytest.raises(DataError, match=r"a\.ann, line 2: "):
        read_docs(path, nlp)
    path.unlink()
    with pytest.raises(DataError, match=r"its text a\.txt is not beside it"):
        read_docs(path.with_suffix(".ann"), nlp)


@pytest.mark.parametrize(
    "line",
    [
        "<PER>Mira Holt</PER> left <LOC>Ulmstadt</LOC>.",
        '<s id="1"><ENAMEX TYPE="PER">Mira Holt</ENAMEX> left '
        "<ne type='LOC'>Ulmstadt</ne>.</s>",
        "<doc>\n<p> <PER> Mira Holt </PER> left <LOC>Ulmstadt</LOC>.</p>\n</doc>",
    ],
)
def test_tags_in_the_text_are_entities(read, line):
    (doc,), _ = read("a.xml", f'<?xml version="1.0"?>\n{line}\n')
    assert entities(doc) == FOUND


def test_signs_of_xml_are_read_and_nesting_keeps_the_longest(read):
    (doc,), report = read("a.xml", "<ORG>Holt &amp; <PER>Vogt</PER></ORG> left &lt;b\n")
    assert doc.text == "Holt & Vogt left <b"
    assert entities(doc) == [("Holt & Vogt", "ORG")] and report.overlapping == 1


@pytest.mark.parametrize(
    "line", ["<PER>Mira left", "<PER>Mira</LOC> left", "Mira</PER>"]
)
def test_broken_tags_are_an_error_with_their_line(error_of, line):
    assert ", line 2: " in error_of("a.xml", f"<LOC>Lima</LOC>\n{line}\n")


def test_plain_text_with_small_tags_is_no_xml(error_of):
    message = error_of("a.txt", "See <cite>this</cite> book.\n")
    assert "neither columns" in message


def code(example):
    """An example in a cell; its lines are divided by a return sign."""
    shown = example.replace("\t", " ⇥ ").replace("\n", " ⏎ ").replace("|", "\\|")
    return f"`{shown}`"


FILES = [(x.name, x.title, " ".join(x.extensions), code(x.example)) for x in FORMS]
FILES.append(("spacy", "spaCy's binary form", ".spacy", ""))
OBJECTS = [(kind.name, kind.title, code(kind.example)) for kind in JSON_KINDS.values()]
OUTPUTS = [
    (writer.name, writer.title, " ".join(writer.extensions)) for writer in WRITERS
]


@pytest.mark.parametrize("rows", [FILES, OBJECTS, OUTPUTS])
def test_the_tables_in_the_docs_are_those_of_the_code(rows):
    page = Path(__file__).parents[2] / "docs" / "data.md"
    found = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    assert f"| --- |\n{found}\n" in page.read_text(encoding="utf8")
