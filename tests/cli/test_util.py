"""What the commands share."""

import os
import signal
import sys

import pytest
import typer
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.cli._options import command
from spacy_entlm.cli._util import ANEW, GOES_ON, echo, one_line_errors

from ..commands import entlm


def test_one_line_errors_folds_long_messages_and_lets_other_errors_pass(capsys):
    with pytest.raises(Exception) as caught, one_line_errors():
        raise ValueError("first\n\n   second")
    assert getattr(caught.value, "exit_code", None) == 1
    assert "first second\n" in capsys.readouterr().err
    with pytest.raises(KeyError), one_line_errors():
        raise KeyError("a bug")


def test_each_command_shows_an_example_in_its_help():
    root = typer.main.get_command(entlm_cli)
    found = {(name,): one for name, one in root.commands.items()}
    for group in ("lexicon", "report"):
        own = found.pop((group,)).commands.items()
        found.update({(group, name): one for name, one in own})
    for names in (names for names, one in found.items() if not one.hidden):
        told = entlm(*names, "--help").stdout
        assert f"\n    python -m spacy entlm {' '.join(names)} " in told


def press_ctrl_c():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "stop, status",
    [(press_ctrl_c, 130), (lambda: signal.raise_signal(signal.SIGTERM), 143)],
)
@pytest.mark.parametrize(
    "settings, line", [({}, ANEW), ({"stopped": GOES_ON}, GOES_ON)]
)
def test_a_command_that_is_stopped_says_in_one_line_what_to_do(
    stop, status, settings, line
):
    """What it was about to clean up, it cleans up."""
    app, cleaned = typer.Typer(), []

    @command("work", app, **settings)
    def work() -> None:
        try:
            stop()
        finally:
            cleaned.append(True)

    before = signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(app, [])
    assert (result.exit_code, result.stderr) == (status, f"\n{line}\n")
    assert cleaned and signal.getsignal(signal.SIGTERM) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no forks")
def test_a_process_that_a_command_starts_ends_by_sigterm_as_any_other():
    app, ended = typer.Typer(), []

    @command("work", app)
    def work() -> None:
        if not (child := os.fork()):
            signal.raise_signal(signal.SIGTERM)
            os._exit(7)
        ended.append(os.waitpid(child, 0)[1])

    assert CliRunner().invoke(app, []).exit_code == 0
    assert os.WTERMSIG(ended[0]) == signal.SIGTERM


def test_work_goes_on_where_nobody_reads_what_is_printed(monkeypatch):
    """As after `| head -1`."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        echo("one", "two")
        echo("three")
