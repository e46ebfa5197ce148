"""Tables: CSV, TSV and Excel, and Comprehend's, of words, texts or marks."""

import pandas
import pytest

from spacy_entlm.corpus.readers import read_docs

from .sentence import FOUND, TAGS, TEXT, WORDS, entities, words


def table(rows, sep=","):
    return "\n".join(sep.join(map(str, row)) for row in rows) + "\n"


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_table_of_marks_has_texts_and_offsets(read, sep):
    rows = [
        ["text", "start", "end", "label"],
        [TEXT, 0, 9, "PER"],
        ["", 15, 23, "LOC"],
        ["It rained.", "", "", ""],
    ]
    name = "a.tsv" if sep == "\t" else "a.csv"
    docs, report = read(name, table(rows, sep))
    assert [entities(doc) for doc in docs] == [FOUND, []]
    assert "row 1 a header" in report.understood


def test_the_words_of_a_mark_in_a_table_are_compared(read):
    rows = [["Text", "Begin Offset", "End Offset", "Type", "Mention"]]
    rows.append([TEXT, 1, 10, "PER", "Mira Holt"])
    (doc,), report = read("a.csv", table(rows))
    assert entities(doc) == FOUND[:1]
    assert any("put where their text stands" in line for line in report.lines())


def test_a_bad_offset_in_a_table_names_its_row(error_of):
    rows = [["text", "start", "end", "label"], [TEXT, "a", 9, "PER"]]
    assert "row 2: 'a' is no offset" in error_of("a.csv", table(rows))
    rows[1][1:3] = [0, 90]
    assert "row 2: span" in error_of("a.csv", table(rows))


@pytest.mark.parametrize(
    "head",
    [
        ["Sentence #", "Word", "POS", "Tag"],
        ["sentence_id", "words", "pos", "labels"],
    ],
)
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("name, sep", [("a.csv", ","), ("a.tsv", "\t")])
def test_a_table_of_words_has_a_column_for_the_sentence(read, head, filled, name, sep):
    rows = [head]
    for n in (1, 2):
        for i, (word, tag) in enumerate(zip(WORDS, TAGS)):
            sentence = f"Sentence: {n}" if filled or i == 0 else ""
            rows.append([sentence, word, "NN", tag])
    docs, report = read(name, table(rows, sep))
    assert [(words(doc), entities(doc)) for doc in docs] == [(WORDS, FOUND)] * 2
    assert report.understood == "a table, columns 2 word, 4 tag (row 1 a header)"


def test_blank_rows_divide_sentences_and_quotes_are_words(read):
    text = 'word,tag\nMira,B-PER\n"""",O\n",",O\n\nUlmstadt,B-LOC\nfroze,O\n'
    docs, _ = read("a.csv", text)
    assert [words(doc) for doc in docs] == [["Mira", '"', ","], ["Ulmstadt", "froze"]]


@pytest.mark.parametrize(
    "head, cells",
    [
        (["text", "labels"], [TEXT[:-1] + " .", "B-PER I-PER O B-LOC O"]),
        (["tokens", "ner_tags"], [str(WORDS), str(TAGS)]),
        (["id", "text", "entities"], ["7", TEXT, "[(0, 9, 'PER'), (15, 23, 'LOC')]"]),
        (["text", "label"], [TEXT, '[[0, 9, "PER"], [15, 23, "LOC"]]']),
    ],
)
def test_a_table_of_texts_has_lists_or_tags_in_its_cells(read, tmp_path, head, cells):
    pandas.DataFrame([cells], columns=head).to_csv(tmp_path / "b.csv", index=False)
    (doc,), _ = read("a.csv", (tmp_path / "b.csv").read_bytes())
    assert entities(doc) == FOUND


def test_a_damaged_workbook_is_an_error(error_of):
    assert "no Excel file" in error_of("a.xlsx", b"PK\x03\x04 no workbook")


def test_other_sheets_are_told(tmp_path, nlp):
    path = tmp_path / "a.xlsx"
    with pandas.ExcelWriter(path) as writer:
        for sheet in ("one", "two"):
            frame = pandas.DataFrame(list(zip(WORDS, TAGS)), columns=["word", "tag"])
            frame.to_excel(writer, sheet_name=sheet, index=False)
    (doc,), report = read_docs(path, nlp)
    assert entities(doc) == FOUND
    assert report.unread == {"the sheet two": 1}


def test_broken_tables_are_errors(error_of):
    assert "no table" in error_of("a.csv", "a,b\n1,2\n1,2,3\n")
    message = error_of("a.csv", "name,kind\nMira,x\nHolt,y\n")
    assert "1 'name', 2 'kind'" in message and "--columns" in message


def test_comprehends_marks_name_a_file_beside(read, error_of, tmp_path):
    (tmp_path / "docs.txt").write_text(f"It rained.\n{TEXT}\n")
    rows = [["File", "Line", "Begin Offset", "End Offset", "Type"]]
    rows += [["docs.txt", 1, 0, 9, "PER"], ["docs.txt", 1, 15, 23, "LOC"]]
    docs, _ = read("a.csv", table(rows))
    assert [entities(doc) for doc in docs] == [[], FOUND]
    rows[1][0] = "../docs.txt"
    assert "only files beside it" in error_of("a.csv", table(rows))
    rows[1][0] = "none.txt"
    assert "none.txt: no such file" in error_of("a.csv", table(rows), place="none.txt")
