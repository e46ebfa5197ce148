"""Our F1 beside the figures of the paper (bert-base-cased), from the report of
`compare`.

    python project/benchmarks/beside_paper.py OUT/report.json
"""

import json
from pathlib import Path

import pandas
import typer

PAPER = Path(__file__).parent / "paper_figures.json"
NAMES = ["dataset", "method", "variant", "shots"]


def main(report: Path, paper: Path = PAPER) -> None:
    """Print the cells that both have."""
    ours = pandas.DataFrame(json.loads(report.read_text(encoding="utf8"))["scores"])
    figures = json.loads(paper.read_text(encoding="utf8"))
    # Tables 2 and 3: those with further pre-training have another backbone.
    cells = [cell for cell in figures["cells"] if "backbone" not in cell]
    theirs = pandas.DataFrame(cells).rename(columns={"K": "shots"})
    both = ours.merge(theirs, on=NAMES)
    columns = [*NAMES, "backbone", "f1", "deviation", "mean", "sd"]
    shown = both[columns].rename(columns={"mean": "paper", "sd": "its deviation"})
    print(shown.round(2).to_string(index=False))
    print("\n".join(figures["notes"]))


if __name__ == "__main__":
    typer.run(main)
