"""The engine `ray` on a real cluster of two nodes, and what the death of one costs."""

import os
import time
from pathlib import Path

import pytest
import spacy

from spacy_entlm.files.errors import DataError
from spacy_entlm.scale.apply import apply_sharded
from spacy_entlm.scale.engines import Engine, Failed

ray = pytest.importorskip("ray", reason="needs the extra `ray`")
pytest.importorskip("pyarrow", reason="needs the extra `ray`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
ENGINE = Engine("ray")
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes with one core each, which this process has joined."""
    from ray.cluster_utils import Cluster

    started = Cluster(
        initialize_head=True, head_node_args={**NODE, "include_dashboard": False}
    )
    started.add_node(**NODE)
    ray.init(started.address, log_to_driver=False)
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture
def second_node(cluster):
    """A node of the cluster that a test may kill."""
    if len(cluster.worker_nodes) == 0:
        cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    return next(iter(cluster.worker_nodes))


def slow_reader(folder):
    """Reads with a pipeline, slowly. Its class is sent to the workers with it."""

    class SlowReader:
        def __init__(self, folder, seconds):
            self.folder, self.seconds = str(folder), seconds

        def load(self):
            nlp, seconds = spacy.load(self.folder), self.seconds
            tokenizer = nlp.tokenizer

            def slow(text):
                time.sleep(seconds)
                return tokenizer(text)

            nlp.tokenizer = slow
            return nlp

        def facts(self):
            return {"pipeline": self.folder}

    return SlowReader(folder, 0.1)


def test_results_are_those_of_this_process(
    cluster, second_node, trained_folder, tmp_path, lines, read_files
):
    text = tmp_path / "in.txt"
    text.write_text("\n".join(lines * 6))
    reader = slow_reader(trained_folder)
    for name, engine in (("here", Engine()), ("there", ENGINE)):
        out = str(tmp_path / name)
        counts = apply_sharded(
            reader, str(text), out, shard_bytes=100, form="parquet", engine=engine
        )
        assert counts["texts"] == 6 * len(lines)
    assert read_files(tmp_path / "there") == read_files(tmp_path / "here")


def test_node_that_dies_costs_what_it_was_at(
    cluster, second_node, trained_folder, tmp_path, lines, read_files
):
    text = tmp_path / "in.txt"
    text.write_text("\n".join(lines * 12))
    reader = slow_reader(trained_folder)
    apply_sharded(reader, str(text), str(tmp_path / "here"), shard_bytes=100)
    free = []

    def kill_at_third(outcomes, total):
        for n_done, outcome in enumerate(outcomes):
            if n_done == 2:
                free.append(ray.available_resources().get("CPU", 0))
                cluster.remove_node(second_node, allow_graceful=False)
            yield outcome

    counts = apply_sharded(
        reader,
        str(text),
        str(tmp_path / "there"),
        shard_bytes=100,
        engine=ENGINE,
        progress=kill_at_third,
    )
    assert free == [0]  # a worker was on each node
    assert counts["texts"] == 12 * len(lines)
    assert read_files(tmp_path / "there") == read_files(tmp_path / "here")


def test_worker_that_dies_costs_its_item(cluster, second_node, tmp_path):
    log = tmp_path / "log"

    def work(item):
        with log.open("a") as file_:
            file_.write(f"{item}\n")
        if item == 3 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        time.sleep(0.05)
        return item * item

    assert ENGINE.run_all(work, [*range(12)]) == [i * i for i in range(12)]
    done = log.read_text().split()
    assert (tmp_path / "died").exists() and len(done) <= 12 + 4
    assert done.count("3") == 2


def test_work_is_loaded_once_by_each_worker(cluster, second_node):
    class Loading:
        n_loaded = 0

        def __call__(self, item):
            self.n_loaded += not self.n_loaded
            return [os.getpid(), self.n_loaded, os.environ["OMP_NUM_THREADS"]]

    results = Engine("ray", workers=2).run_all(Loading(), [*range(20)])
    assert len({pid for pid, *_ in results}) <= 2
    assert {tuple(rest) for _, *rest in results} == {(1, "1")}


def test_what_fails_is_told_and_the_rest_is_done(cluster, second_node):
    def work(item):
        if item == 1:
            raise DataError("bad", path=Path("a.txt"))
        return item

    outcomes = dict(ENGINE.run(work, [0, 1, 2]))
    assert outcomes == {0: 0, 1: Failed("a.txt: bad"), 2: 2}
    with pytest.raises(DataError, match="bad"):
        ENGINE.run_all(work, [0, 1, 2])


def test_docs_that_were_sent_may_be_written_to(cluster, second_node, trained):
    """Arrays of Ray may not; so Docs are sent as bytes."""
    from spacy.tokens import DocBin

    def work(data):
        nlp = spacy.blank("en")
        (doc,) = DocBin().from_bytes(data).get_docs(nlp.vocab)
        doc.set_ents([doc[0:1]], default="outside")
        return DocBin(docs=[doc]).to_bytes()

    data = DocBin(docs=[trained("Anna Smith lives in Berlin .")]).to_bytes()
    assert ENGINE.run_all(work, [data]) == [work(data)]
