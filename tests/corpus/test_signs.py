"""Files of columns, tables and marks in the text as data sets have them: signs, blank
lines and names that were taken for something else."""

import pytest

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import FOUND, TAGS, TEXT, WORDS, entities, table, words

POS = ["NNP", "NNP", "VBD", "NNP", "."]


# Columns


@pytest.mark.parametrize("end", ["\r\r\n", "\n\n"])
def test_a_blank_line_behind_each_word_is_an_error(error_of, end):
    text = "".join(f"{w} {t}{end}" for w, t in zip(WORDS, TAGS))
    message = error_of("a.conll", text * 2)
    assert "blank line" in message and "'Holt'" in message


def test_sentences_of_one_word_are_sentences(read):
    docs, _ = read("a.conll", "Ulm B-LOC\n\nMira B-PER\n\nleft O\n")
    assert len(docs) == 3


def test_numbers_of_words_that_begin_anew_divide_sentences(read):
    names = ["d1", "d1", "d1", "d2", "d2"]
    text = table(names, ["1", "2", "3", "1", "2"], WORDS, TAGS)
    docs, _ = read("a.tsv", text)
    assert [words(doc) for doc in docs] == [WORDS[:3], WORDS[3:]]
    text = table(["0", "1", "2", "0", "1"], WORDS, TAGS)
    docs, _ = read("a.tsv", text)
    assert [words(doc) for doc in docs] == [WORDS[:3], WORDS[3:]]


def test_other_numbers_that_come_again_divide_nothing(read):
    docs, _ = read("a.tsv", table(["1", "3", "1", "2", "2"], WORDS, TAGS))
    assert len(docs) == 1


@pytest.mark.parametrize("remark", ["#sent_id = 1", "#text = Mira", "#id=a b c"])
def test_remarks_without_a_blank_are_no_words(read, remark):
    sentence = table(WORDS, POS, TAGS, gap=" ")
    docs, _ = read("a.conll", f"{remark}\n{sentence}\n{remark}\n{sentence}")
    assert [words(doc) for doc in docs] == [WORDS] * 2


def test_the_header_names_the_word_beside_its_lemma(read):
    lemmas = [word.lower() for word in WORDS]
    body = "".join(
        ",".join(row) + "\n" for row in zip("01234", lemmas, POS, WORDS, TAGS)
    )
    docs, _ = read("a.csv", f"id,lemma,pos,word,tag\n{body}")
    assert [words(doc) for doc in docs] == [WORDS]
    text = table(lemmas, WORDS, TAGS)
    docs, _ = read("a.tsv", f"lemma\ttoken\tner\n{text}")
    assert [words(doc) for doc in docs] == [WORDS]


def test_tags_without_a_class_are_an_error(error_of):
    text = table(WORDS, ["B", "I", "O", "B", "O"])
    for name, data in [("a.conll", text), ("a.csv", "word,tag\n" + text)]:
        message = error_of(name, data.replace("\t", "," if "csv" in name else "\t"))
        assert "without a class" in message and "B-" in message
    assert "without a class" in error_of("a.conll", text, columns="1,2")


def test_classes_of_one_letter_are_classes(read):
    (doc,), _ = read("a.conll", table(WORDS, ["B", "B", "O", "T", "O"]))
    assert [label for _, label in entities(doc)] == ["B", "T"]


def test_remarks_between_rows_divide_sentences(read):
    rows = table(WORDS, TAGS, ["_"] * 5)
    remark = "# hipe2022:document_id = a\n# hipe2022:date = 1898\n"
    docs, _ = read("a.tsv", f"TOKEN\tNER\tMISC\n{remark}{rows}{remark}{rows}")
    assert [words(doc) for doc in docs] == [WORDS] * 2


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_columns_that_are_named_as_the_first_row_does_make_it_a_header(read, name):
    gap = "," if name == "a.csv" else "\t"
    body = table(WORDS, TAGS, ["B-X", "O", "O", "O", "O"], gap=gap)
    head = gap.join(["TOKEN", "NE-COARSE", "NE-FINE"])
    (doc,), report = read(name, f"{head}\n{body}", columns="TOKEN,NE-COARSE")
    assert (words(doc), entities(doc)) == (WORDS, FOUND)
    assert "row 1 a header" in report.understood


def test_a_language_before_each_word_is_no_part_of_it(read):
    text = table([f"en:{word}" for word in WORDS], TAGS)
    (doc,), report = read("a.tsv", text)
    assert (words(doc), entities(doc)) == (WORDS, FOUND)
    assert "'en:'" in report.understood
    (doc,), _ = read("a.tsv", text + "on:\tO\n")
    assert words(doc)[0] == "en:Mira"


def conllu(*notes):
    return "".join(
        f"{i}\t{word}\t_\tX\t_\t_\t0\troot\t_\t{note}\n"
        for i, (word, note) in enumerate(zip(WORDS, notes), 1)
    )


def test_two_kinds_of_tags_in_the_last_column_are_asked_for(read, error_of):
    text = conllu(*[f"NE={a}|NER={b}" for a, b in zip("OOOOO", TAGS)])
    message = error_of("a.conllu", text)
    assert "NE" in message and "--columns 2,NER" in message
    (doc,), report = read("a.conllu", text, columns="2,NER")
    assert entities(doc) == FOUND and "NER=" in report.understood
    same = conllu(*[f"ne={tag}|NER={tag}" for tag in TAGS])
    (doc,), _ = read("a.conllu", same)
    assert entities(doc) == FOUND


def test_columns_that_are_asked_for_are_those_of_conllu_too(read):
    rows = zip(WORDS, TAGS)
    text = "".join(
        f"{i}\t{word}\t_\tX\t{tag}\t_\t0\troot\t_\tname=O\n"
        for i, (word, tag) in enumerate(rows, 1)
    )
    (doc,), _ = read("a.conllu", text, columns="2,5")
    assert entities(doc) == FOUND


def test_files_of_universal_ner_are_known_by_their_name(read):
    rows = table("12345", WORDS, TAGS, "-----", ["bo"] * 5)
    (doc,), _ = read("a.iob2", f"# sent_id = 1\n# text = x\n{rows}")
    assert (words(doc), entities(doc)) == (WORDS, FOUND)


@pytest.mark.parametrize("sign", ["/", "|", "_"])
def test_tags_behind_each_word_of_a_line_are_told(error_of, sign):
    line = " ".join(f"{w}{sign}{t}" for w, t in zip(WORDS, TAGS))
    for name in ("a.iob", "a.txt", "a.tsv"):
        message = error_of(name, f"{line}\n{line} so{sign}O\n")
        assert f"'Mira{sign}B-PER'" in message and "line for each word" in message


# The signs of one form in another


def test_a_mark_among_the_words_of_columns_is_a_word(read):
    text = table([*WORDS, "[a](b)"], [*TAGS, "O"])
    (doc,), _ = read("a.txt", f"{text}\n")
    assert (words(doc)[-1], entities(doc)) == ("[a](b)", FOUND)


def test_a_sentence_with_marks_is_no_row_of_columns(read):
    (doc,), _ = read("a.txt", "[Mira](PER) sang A-ha\n")
    assert entities(doc) == [("Mira", "PER")]


@pytest.mark.parametrize("slip", ["<PER>Bo</PER>", "{{Bo|PER}}"])
def test_marks_of_another_form_among_ours_are_told(read, slip):
    _, report = read("a.txt", f"[Ann](PER) came.\n{slip} left.\n")
    assert len(report.slips) == 1 and "line 2" in report.slips[0]


def test_several_entities_of_one_mark_of_rasa_are_read(read):
    mark = '[Lima][{"entity": "city"}, {"entity": "goal", "role": "to"}]'
    text = f"nlu:\n- intent: go\n  examples: |\n    - fly to {mark} now\n"
    (doc,), report = read("a.yml", text)
    assert doc.text == "fly to Lima now"
    assert entities(doc) == [("Lima", "city")] and report.overlapping == 1


def test_marks_in_lines_that_are_no_examples_of_rasa_are_told(read):
    body = "    - to [Lima](city)\n    to [Rome](city)\n"
    docs, report = read("a.yml", f"nlu:\n- intent: go\n  examples: |\n{body}")
    assert len(docs) == 1
    assert any("'to [Rome](city)'" in line for line in report.problems())
    text = "## intent:go\n- to [Lima](city)\n1. to [Rome](city)\n"
    _, report = read("a.md", text)
    assert any("'1. to [Rome](city)'" in line for line in report.problems())


# Tables


def test_blanks_around_a_text_count(read):
    (doc,), report = read("a.csv", 'text,start,end,label\n"  Mira left. ",2,6,PER\n')
    assert entities(doc) == [("Mira", "PER")] and not report.misaligned
    cell = '"[[2, 6, ""PER""]]"'
    (doc,), report = read("a.csv", f'id,text,label\n1,"  Mira left.",{cell}\n')
    assert entities(doc) == [("Mira", "PER")] and not report.misaligned


def test_a_quote_that_is_not_closed_is_an_error(error_of):
    message = error_of("a.csv", 'word,tag\n",O\nMira,B-PER\n",O\nleft,O\n')
    assert "row 2" in message and "quote" in message


def test_a_row_of_another_width_is_told_in_one_line(error_of):
    message = error_of("a.csv", "sep=;\ntext;start;end;label\nMira left.;0;4;PER\n")
    assert "no table" in message and "\n" not in message


def test_documents_and_sentences_both_divide_a_table(read):
    rows = "doc_id,sent_id,word,tag\n"
    for name in ("d1", "d2"):
        for number in (1, 2):
            rows += f"{name},{number},Mira,B-PER\n{name},{number},left,O\n"
    docs, _ = read("a.csv", f"{rows}d3,2,Ulm,B-LOC\n")
    assert len(docs) == 5


def test_other_columns_divide_nothing(read):
    rows = "sentence,sentiment,sent_token_id,word,tag\n"
    rows += "s1,good,1,Mira,B-PER\ns1,bad,2,Holt,I-PER\ns2,bad,1,left,O\n"
    docs, _ = read("a.csv", rows)
    assert [len(doc) for doc in docs] == [2, 1]


def test_numbers_of_words_that_are_called_lines_divide_nothing(read):
    docs, _ = read("a.csv", "line,word,tag\n1,Mira,B-PER\n2,Holt,I-PER\n3,left,O\n")
    assert [len(doc) for doc in docs] == [3]


@pytest.mark.parametrize("name", ["label", "text"])
def test_two_columns_of_one_name_are_an_error(error_of, name):
    head = f"text,label,start,end,{name}\n"
    message = error_of("a.csv", f"{head}Mira left.,x,0,4,PER\n")
    assert f"'{name}'" in message and "two columns" in message


# WebAnno


def test_a_word_with_a_mark_inside_counts_as_not_annotated(read):
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.NamedEntity|value\n\n\n"
    rows = "1-1\t0-9\tMira-Holt\t_\t\n1-1.1\t0-4\tMira\tPER\t\n1-2\t10-14\tleft\t_\t\n"
    (doc,), report = read("a.tsv", f"{head}#Text=Mira-Holt left Ulm\n{rows}")
    assert [token.ent_iob_ for token in doc] == ["", "O"]
    assert report.skipped == {"spans inside a word": 1}


# brat


def test_a_line_that_is_none_of_brats_is_an_error(tmp_path, nlp):
    (tmp_path / "a.txt").write_text(TEXT)
    first = "T1\tPER 0 9\tMira Holt\n"
    (tmp_path / "a.ann").write_text(f"{first} T2\tLOC 15 23\tUlmstadt\n")
    (doc,), _ = read_docs(tmp_path / "a.txt", nlp)
    assert entities(doc) == FOUND
    (tmp_path / "a.ann").write_text(f"{first}X2\tLOC 15 23\tUlmstadt\n")
    with pytest.raises(DataError, match=r"a\.ann, line 2: "):
        read_docs(tmp_path / "a.txt", nlp)


def test_marks_over_words_that_count_as_not_annotated_are_told(tmp_path, nlp):
    (tmp_path / "a.txt").write_text(TEXT)
    marks = "T1\tPER 0 4;15 23\tMira Ulmstadt\nT2\tPER 0 9\tMira Holt\n"
    (tmp_path / "a.ann").write_text(marks)
    (doc,), report = read_docs(tmp_path / "a.txt", nlp)
    assert not doc.ents
    assert any("'Mira Holt' (PER)" in line for line in report.problems())


# XML


def test_what_stands_in_cdata_is_text(read):
    line = "<s><![CDATA[Mira & Holt]]> left <LOC>Ulmstadt</LOC>.</s>\n"
    (doc,), _ = read("a.xml", line)
    assert doc.text == "Mira & Holt left Ulmstadt."
    assert entities(doc) == [("Ulmstadt", "LOC")]


def test_remarks_and_declarations_are_no_text(read):
    head = "<!DOCTYPE doc [<!ENTITY x 'y'>]>\n<!-- a > b\n<LOC>Rome</LOC> -->\n"
    docs, _ = read("a.xml", f"{head}<s>to <LOC>Lima</LOC><!-- > --></s>\n")
    assert [doc.text for doc in docs] == ["to Lima"]


def test_the_space_of_a_name_is_no_part_of_the_class(read):
    (doc,), _ = read("a.xml", "<s><n:PER>Mira</n:PER> left <n:LOC>Ulm</n:LOC></s>\n")
    assert entities(doc) == [("Mira", "PER"), ("Ulm", "LOC")]


MARK = "<infon key='type'>PER</infon><location offset='0' length='4'/>"
BIOC = "<collection><document><passage><infon key='type'>title</infon><offset>0"
BIOC += f"</offset><text>Mira left.</text><annotation id='1'>{MARK}<text>Mira</text>"
BIOC += "</annotation></passage></document></collection>"
GATE = "<GateDocument><TextWithNodes><Node id='0'/>Mira<Node id='4'/> left."
GATE += "</TextWithNodes><AnnotationSet><Annotation Type='PER' StartNode='0'/>"
GATE += "</AnnotationSet></GateDocument>"
FOLIA = "<FoLiA><text><s><w><t>Mira</t></w><w><t>left</t></w></s></text></FoLiA>"
TCF = "<D-Spin><t:TextCorpus><t:text>Mira left.</t:text><t:token>Mira</t:token>"
TCF += "</t:TextCorpus></D-Spin>"
UIMA = "<xmi:XMI><cas:Sofa sofaString='Mira left.'/><n:NE begin='0'/></xmi:XMI>"
CCL = "<chunkList><chunk><tok><orth>Mira</orth><ann>1</ann></tok></chunk></chunkList>"


@pytest.mark.parametrize("text", [BIOC, GATE, FOLIA, TCF, UIMA, CCL])
@pytest.mark.parametrize("divided", [False, True])
def test_marks_that_stand_beside_the_text_are_refused(error_of, text, divided):
    text = text.replace("><", ">\n<") if divided else text
    message = error_of("a.xml", f"<?xml version='1.0'?>\n{text}\n")
    assert "beside the text" in message and "docs/data.md" in message


def test_elements_that_hold_all_of_a_text_are_no_marks(error_of):
    text = "<list><orth>Mira</orth><orth>left</orth></list>\n"
    assert "nothing but marks" in error_of("a.xml", text)


def test_a_tag_that_ends_on_another_line_says_what_is_read(error_of):
    text = "<TEI>\n<note>a\nb</note>\n<p><persName>Mira</persName> left</p>\n</TEI>\n"
    message = error_of("a.xml", text)
    assert "<note>" in message and "on one line" in message


@pytest.mark.parametrize("attribute", ["cls", "ner", "kind", "entity_type", "tag"])
def test_the_attribute_of_a_class_has_several_names(read, attribute):
    line = f"<s><ne id='1' {attribute}='PER'>Mira</ne> left.</s>\n"
    (doc,), _ = read("a.xml", line)
    assert entities(doc) == [("Mira", "PER")]


def test_other_attributes_of_a_class_change_nothing(read):
    (doc,), _ = read("a.xml", "<s>to <LOC kind='town' name='x'>Ulm</LOC></s>\n")
    assert entities(doc) == [("Ulm", "LOC")]


def test_an_attribute_that_may_be_the_class_is_asked_for(read, error_of):
    line = "<s><entity {}='PER'>Mira</entity> left <entity {}='LOC'>Ulm</entity></s>\n"
    message = error_of("a.xml", line.replace("{}", "name"))
    assert "'name'" in message and "type" in message
    (doc,), _ = read("a.xml", line.replace("{}", "id"))
    assert entities(doc) == [("Mira", "entity"), ("Ulm", "entity")]


def test_empty_tags_with_attributes_mark_nothing(read):
    line = "<s><LOC>Ulm</LOC> <lb n='2'/>fell <milestone unit='x' /> down</s>\n"
    (doc,), _ = read("a.xml", line)
    assert entities(doc) == [("Ulm", "LOC")]
