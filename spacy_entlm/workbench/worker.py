"""The process that works in the background of a workbench:

python -m spacy_entlm.workbench.worker FOLDER RUN
"""

import os
import sys
from pathlib import Path
from typing import Optional

from .runs import AFTER, TRAIN, Runs

# The page comes before the training.
NICE = 10


def main(folder: Path, number: int) -> None:
    """Do a run that the server began, and what follows from it."""
    runs = Runs(folder)
    with runs.alive():
        current: Optional[int] = number
        while current is not None:
            with runs.working(current) as kind:
                if kind is not None:
                    # Not before the lock, which tells that we live: it takes seconds.
                    from .job import Job

                    Job(folder, current).run(kind)
            current = runs.note_begin(AFTER) if kind == TRAIN else None


if __name__ == "__main__":
    if hasattr(os, "nice"):  # it is this process that is ours
        os.nice(NICE)
    import torch

    torch.set_num_threads(1)  # the others are for the page
    main(Path(sys.argv[1]), int(sys.argv[2]))
