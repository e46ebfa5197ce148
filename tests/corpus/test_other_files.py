"""Files of the forms that we read, in ways of naming and dividing that went wrong."""

import pytest
import spacy

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import FOUND, LOC, PER, TEXT, WORDS, entities, jsonl

SPANS = [PER, LOC]


@pytest.mark.parametrize("name", ["a.ndjson", "a.jsonlines"])
def test_other_extensions_of_json_lines_are_known(read, name):
    (doc,), _ = read(name, jsonl({"text": TEXT, "spans": SPANS}))
    assert entities(doc) == FOUND


def test_columns_of_conllu_plus_are_read(read):
    rows = "# global.columns = ID FORM UPOS NER\n"
    for n, (word, tag) in enumerate(zip(WORDS, ["B-PER", "I-PER", "O", "B-LOC", "O"])):
        rows += f"{n + 1}\t{word}\tX\t{tag}\n"
    (doc,), _ = read("a.conllup", rows)
    assert entities(doc) == FOUND


def test_names_of_numbers_may_begin_with_a_byte_order_mark(read, tmp_path):
    (tmp_path / "labels.txt").write_bytes("\ufeffO\r\nB-PER\r\n".encode())
    (doc,), _ = read("a.jsonl", jsonl({"tokens": ["Mira", "left"], "ner_tags": [1, 0]}))
    assert entities(doc) == [("Mira", "PER")]


def test_names_of_numbers_may_stand_in_a_data_card(read, tmp_path):
    card = """---
license: mit
dataset_info:
- config_name: en
  features:
  - name: pos_tags
    sequence:
      class_label:
        names: {'0': NOUN}
  - name: ner_tags
    sequence:
      class_label:
        names:
          '0': O
          '1': B-PER
---
# Words
"""
    (tmp_path / "README.md").write_text(card)
    entry = {"tokens": ["Mira", "left"], "ner_tags": [1, 0]}
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert entities(doc) == [("Mira", "PER")]


def test_a_file_without_a_card_beside_it_asks_for_names(error_of, tmp_path):
    (tmp_path / "README.md").write_text("# Words\nNo names.\n")
    entry = {"tokens": ["Mira", "left"], "ner_tags": [1, 0]}
    assert "--labels" in error_of("a.jsonl", jsonl(entry))


def test_sentences_of_rows_with_a_number_each_stay_apart(read):
    rows = [(1, "Mira", "PER"), (1, "left", "O"), (2, "Holt", "PER"), (2, "left", "O")]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    docs, _ = read("a.tsv", text)
    assert [doc.text.split() for doc in docs] == [["Mira", "left"], ["Holt", "left"]]
    docs, _ = read("a.csv", text.replace("\t", ","))
    assert len(docs) == 2


def test_numbers_that_count_words_or_offsets_divide_nothing(read):
    rows = [(1, "Mira", "PER"), (2, "left", "O"), (3, "Ulm", "LOC"), (4, ".", "O")]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    docs, _ = read("a.tsv", text)
    assert len(docs) == 1


def test_sheets_that_are_not_read_are_told_where_the_first_is_no_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.xlsx"
    with pandas.ExcelWriter(path) as writer:
        for name, row in (("Notes", ["hello", "x"]), ("Data", ["text", "label"])):
            frame = pandas.DataFrame([row])
            frame.to_excel(writer, sheet_name=name, index=False, header=False)
    with pytest.raises(DataError, match=r"sheet 'Notes'.*Data"):
        read_docs(path, spacy.blank("en"))
