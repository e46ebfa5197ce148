"""Text that is annotated is read as a stream."""

from pathlib import Path

from spacy_entlm.cli import annotate

from ..commands import entlm

N_LINES = 3000


def test_plain_text_is_read_once_and_not_held(tmp_path, monkeypatch):
    """But for some lines that tell its form, it may be larger than the memory."""
    monkeypatch.chdir(tmp_path)
    Path("lexicon.tsv").write_text("Ann\tPER\n")
    Path("plain.txt").write_text("Ann left .\n" * N_LINES)
    read, ahead = [0], []

    def counted(lines):
        for line in lines:
            read[0] += 1
            yield line

    def noted(docs):
        for i, doc in enumerate(docs):
            ahead.append(read[0] - i)
            yield doc

    read_lines, write_docs = annotate.files.read_lines, annotate.write_docs
    monkeypatch.setattr(
        annotate.files,
        "read_lines",
        lambda path: (
            counted(read_lines(path)) if path.suffix == ".txt" else read_lines(path)
        ),
    )
    monkeypatch.setattr(
        annotate, "write_docs", lambda docs, path: write_docs(noted(docs), path)
    )
    result = entlm("annotate", "lexicon.tsv", "plain.txt", "out.spacy")
    assert result.exit_code == 0, result.stderr
    assert len(ahead) == N_LINES
    assert N_LINES <= read[0] < 1.5 * N_LINES
    assert max(ahead) < N_LINES / 2
