"""The command `serve`: what it makes of its arguments before it serves."""

import os
import sys
from functools import partial

import pytest

from spacy_entlm.cli import serve

from ..commands import entlm, error_of

run = partial(entlm, "serve")


@pytest.fixture
def served(monkeypatch):
    """What would have been served."""
    pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
    from spacy_entlm.serving import server

    served = []
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # else it is set, and stays
    monkeypatch.setattr(server, "serve", lambda *args: served.append(args))
    yield served
    for reader, *_ in served:
        reader.close()


def test_options_become_limits(served, trained_folder):
    result = run(trained_folder, "--max-chars", 10, "--timeout", 2, "--wait", 1)
    assert result.exit_code == 0, result.stderr
    ((reader, limits, port, host),) = served
    assert (limits.characters, limits.seconds, limits.wait) == (10, 2, 0.001)
    assert (reader.pipeline, port, host) == (str(trained_folder), 8901, "127.0.0.1")


def test_as_many_copies_as_readers(served, trained_folder):
    result = run(trained_folder, "--readers", 2)
    assert result.exit_code == 0, result.stderr
    ((reader, *_),) = served
    assert reader.n_copies == 2
    assert run("none", "--readers", 0).exit_code == 2


@pytest.mark.parametrize(
    "args, text", [(["none"], "none"), (["none", "--queue", 1], "more than may wait")]
)
def test_bad_arguments_are_one_line(served, args, text):
    assert text in error_of(run(*args))
    assert not served


@pytest.mark.parametrize("package", ["fastapi", "prometheus_client"])
def test_without_the_extra_it_is_named(monkeypatch, package):
    for name in ("server", "http", "metrics"):
        monkeypatch.delitem(sys.modules, f"spacy_entlm.serving.{name}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    assert "[serve]" in error_of(run("none"))


@pytest.mark.parametrize(
    "n_readers, given, environment",
    [(1, None, None), (2, None, "3"), (8, None, "1"), (2, "5", "5")],
)
def test_readers_share_the_cores(n_readers, given, environment, monkeypatch):
    if given is None:
        monkeypatch.setenv(serve.THREADS, "")  # so that it is as before afterwards
        monkeypatch.delenv(serve.THREADS)
    else:
        monkeypatch.setenv(serve.THREADS, given)
    monkeypatch.setattr(serve, "_n_cores", lambda: 6)
    serve._share_threads(n_readers)
    assert os.environ.get(serve.THREADS) == environment


def test_a_reader_for_each_core(monkeypatch):
    assert serve._suitable_readers(-1) == min(4, serve._n_cores())
    for n_cores, n_readers in (1, 1), (3, 3), (64, 4):
        monkeypatch.setattr(serve, "_n_cores", lambda n=n_cores: n)
        assert serve._suitable_readers(-1) == n_readers
        assert serve._suitable_readers(0) == 1
