"""Work in the background: one run at a time, and what is left of a killed one."""

import json
import threading

import pytest
import spacy
from filelock import FileLock
from spacy.tokens import DocBin

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.changes import ACCEPT, IGNORE, OPEN
from spacy_entlm.workbench.docs import export
from spacy_entlm.workbench.job import Job
from spacy_entlm.workbench.measure import measure_test
from spacy_entlm.workbench.names import keep_names
from spacy_entlm.workbench.progress import progress
from spacy_entlm.workbench.reading import Texts
from spacy_entlm.workbench.runs import LOOK, TRAIN, Runs
from spacy_entlm.workbench.store import Store
from spacy_entlm.workbench.worker import main


@pytest.fixture
def runs(folder, store, bert, idle):
    store.setting("backbone", str(bert))
    return Runs(folder)


def accept(store, gold, *numbers):
    for number in numbers:
        text = store.text(number)
        store.answer(number, ACCEPT, gold(text), text["version"])


def test_a_training_saves_a_model_and_proposes(runs, store, gold, folder):
    accept(store, gold, *range(1, 9))
    number = runs.begin(TRAIN)
    main(folder, number)
    (run,) = runs.trained()
    assert (run["state"], run["n_examples"], run["done"]) == ("done", 8, 0.7)
    after = runs.latest()
    assert (after["kind"], after["state"]) == ("after", "done")
    assert spacy.load(folder / "model").get_pipe("entlm_ner").labels
    assert next(store.unanswered())["id"] == 9
    assert store.text(9)["reasons"]["doubt"] >= 0
    assert "f1" not in run["scores"]
    # Of eight texts no figure is made, and it is said what is missing.
    assert "2 more texts" in run["scores"]["missing"]


def test_classes_whose_names_say_nothing_keep_no_look_from_others(runs, store, folder):
    # The backbone knows none of PER, LOC and ORG: texts come in their order.
    number = runs.begin(LOOK)
    main(folder, number)
    assert runs.latest()["state"] == "done"
    assert [x["id"] for x in store.unanswered()] == list(range(1, 11))
    store.change_class(2, name="Berlin")  # a word of its vocabulary
    number = runs.begin(LOOK)
    main(folder, number)
    assert runs.latest()["state"] == "done"
    assert Job(folder, number).pipeline([]).get_pipe("entlm_ner").labels == ("Berlin",)


def test_a_pipeline_knows_the_names_of_the_list(store, folder, bert):
    store.setting("backbone", str(bert))
    store.change_class(2, name="Berlin")
    store.set_setting("lang", "en")
    keep_names(store, [Entry("her", "Berlin")])  # a stop word
    assert Job(folder, 1).pipeline([]).pipe_names == ["entlm_ner"]
    keep_names(store, [Entry("Paris", "Berlin")])
    nlp = Job(folder, 1).pipeline([])
    assert nlp.get_pipe("entlm_lexicon").patterns == [
        {"label": "Berlin", "pattern": "Paris"}
    ]


def test_figures_are_those_of_the_test_part(runs, store, folder, annotated, gold):
    accept(store, gold, *range(1, 9))
    words = [(word, True) for word in ["Nobody", "met", "Mary", "yesterday"]]
    store.add_texts([NewText(words, [(2, 3, "PER")], True)])
    main(folder, runs.begin(TRAIN))
    scores = runs.trained()[-1]["scores"]
    assert (scores["n_test"], scores["n_entities"]) == (1, 1)
    assert "f1" not in scores and scores["missing"]
    (number,) = (x["id"] for x in store.answered() if x["is_test"])
    assert bool(scores["mistakes"]) == (number in store.doubtful())


def test_what_helps_most_while_it_trains_is_no_training(runs, store, gold):
    accept(store, gold, *range(1, 9))
    assert progress(runs, store.counts())["advice"].startswith("More of")
    runs.begin(TRAIN)
    said = progress(runs, store.counts())
    assert said == {"new": 8, "advice": "Go on marking while it trains."}


def test_only_one_run_at_a_time(runs, folder):
    with FileLock(folder / ".run.lock"):
        first = runs.begin(TRAIN)
        assert Runs(folder).begin(TRAIN) is None
        assert runs.latest()["id"] == first


def test_a_killed_run_is_seen_and_can_be_started_again(runs, folder, store, gold):
    first = runs.begin(TRAIN)
    again = Runs(folder)  # after a restart
    again.find_killed()
    assert again.latest()["state"] == "killed"
    accept(store, gold, 1)
    main(folder, first)  # it comes to life too late, and does nothing
    assert again.latest()["state"] == "killed" and not (folder / "model").exists()
    assert again.begin(TRAIN) == first + 1


def test_a_failed_run_says_why_in_one_line(runs, folder):
    number = runs.begin(TRAIN)
    with pytest.raises(ValueError):
        main(folder, number)
    run = runs.latest()
    assert run["state"] == "failed" and run["message"].startswith("Nothing is marked")
    assert "\n" not in run["message"]


def test_export_is_what_was_marked(store, folder, gold, annotated):
    accept(store, gold, 1, 2, 3)
    store.answer(4, IGNORE, [], 0)
    store.change_class(1, name="PERSON")
    words = [(word, True) for word in ["Mary", "in", "Rome"]]
    store.add_texts([NewText(words, [(0, 1, "PERSON"), (2, 3, "LOC")], True)])
    names = export(store, folder / "data")
    assert names == ["train.jsonl", "test.jsonl", "unlabeled.jsonl"]
    docs, report = read_docs(folder / "data" / "train.jsonl", spacy.blank("xx"))
    assert [
        (doc.text, [(e.start_char, e.end_char, e.label_) for e in doc.ents])
        for doc in docs
    ] == [
        (text, [(s, e, x.replace("PER", "PERSON")) for s, e, x in gold["entities"]])
        for text, gold in annotated[:3]
    ]
    assert not report.problems() or "not accepted" in report.problems()[0]
    lines = (folder / "data" / "train.jsonl").read_text(encoding="utf8").splitlines()
    assert [json.loads(x)["answer"] for x in lines] == ["accept"] * 3 + ["ignore"]
    # A workbench takes it back.
    other = Store(folder / "other")
    other.add_texts(Texts(spacy.blank("xx")).read(folder / "data"))
    assert other.counts()["train"] == 3 and other.counts()["test"] == 1
    assert other.counts()["texts"] == 3 + 1 + len(list(store.unanswered()))


def test_long_texts_are_split_at_sentences(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("Anna sleeps. " * 40 + "\n\nShort one.\n", encoding="utf8")
    reader = Texts(spacy.blank("xx"))
    texts = [text for new in reader.read(path) for _, text in new.parts]
    joined = ["".join(w + " " * blank for w, blank in text.words) for text in texts]
    assert set(joined) == {"Anna sleeps.", "Short one."} and len(joined) == 41
    assert (reader.n_long, reader.n_parts) == (1, 40)


def test_who_looks_while_a_run_begins_does_not_take_it_for_killed(runs, monkeypatch):
    looking = threading.Thread(target=runs.find_killed)

    class Process:
        def __init__(self, line, **settings):
            looking.start()
            looking.join(0.3)  # it waits, or it has done harm by now

        def poll(self):
            return None

    monkeypatch.setattr("spacy_entlm.workbench.runs.subprocess.Popen", Process)
    runs.begin(TRAIN)
    looking.join()
    assert runs.latest()["state"] == "running"


def test_what_changes_during_a_training_is_not_doubted_and_can_be_chosen(
    runs, store, gold, folder, monkeypatch
):
    """One text is taken back while a training runs, another one is corrected."""
    accept(store, gold, *range(1, 9))

    def change(*known):
        version = store.text(7)["version"]
        store.answer(7, ACCEPT, [(0, 1, 3)], version)
        assert store.undo()["target"] == 7
        store.answer(8, OPEN, [], store.text(8)["version"])
        return measure_test(*known)

    monkeypatch.setattr("spacy_entlm.workbench.job.measure_test", change)
    monkeypatch.setattr("spacy_entlm.workbench.job.differ", lambda *args: True)
    main(folder, runs.begin(TRAIN))
    assert runs.latest()["state"] == "done"
    assert store.doubtful() == [1, 2, 3, 4, 5, 6]
    assert store.text(8)["reasons"]["doubt"] >= 0


def test_words_without_annotation_are_not_taken_for_no_entity(tmp_path, store):
    lines = [
        {"text": "Pre-Berlinians met Ann.", "spans": [[4, 10, "LOC"], [19, 22, "PER"]]},
        {"text": ["Ann", "met", "Bob"], "label": ["B-PER", "O", "-"]},
        {"text": ["Bob", "met", "Ann"], "label": ["-", "-", "-"]},
        {"text": ["Zoe", "left"], "label": ["B-PER", "O"]},
    ]
    folder = tmp_path / "given"
    folder.mkdir()
    text = "\n".join(map(json.dumps, lines))
    (folder / "train.jsonl").write_text(text, encoding="utf8")
    told = []
    reader = Texts(spacy.blank("xx"), tell=told.append)
    texts = [text for new in reader.read(folder) for _, text in new.parts]
    assert [(x.marks is None, x.is_whole) for x in texts] == [
        *((False, False), (False, False), (True, True), (False, True))
    ]
    assert told[0].startswith("train.jsonl: ") and "PER 3" in told[0]
    assert "1 span does not begin and end where words do" in told[1]
    store.add_texts(texts)
    assert [x["words"][0][0] for x in store.answered()] == ["Zoe"]


def test_a_wheel_is_called_as_its_workbench_and_knows_its_figures(
    runs, store, gold, folder, monkeypatch
):
    lines = []

    def run(line, check):
        lines.append(line)
        return type("Done", (), {"returncode": 0})

    accept(store, gold, *range(1, 9))
    texts = [f"Mary met Bob in Rome {i}" for i in range(7)]
    marks = [(0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC")]
    new = [[(word, True) for word in text.split()] for text in texts]
    store.add_texts([NewText(words, marks, True) for words in new])
    main(folder, runs.begin(TRAIN))
    (trained,) = runs.trained()
    scores = trained["scores"]
    assert (scores["how"], scores["n_test"], scores["n_entities"]) == ("test", 7, 21)
    assert scores["f1"]["low"] <= scores["f1"]["value"] <= scores["f1"]["high"]
    monkeypatch.setattr("spacy_entlm.workbench.job.subprocess.run", run)
    Job(folder, 1).wheel()
    (line,) = lines
    said = dict(zip(line[8::2], line[9::2]))
    assert said["--name"] == folder.name and said["--version"] == "1.0.1"
    figures = json.loads((folder / "figures.json").read_text(encoding="utf8"))
    assert (figures["sentences"], figures["n_entities"]) == (7, 21)
    assert said["--metrics"] == str(folder / "figures.json")
    docs = DocBin().from_disk(said["--train"]).get_docs(spacy.blank("xx").vocab)
    assert len(list(docs)) == 8
