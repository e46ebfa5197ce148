"""The process that works in the background of a workbench:

python -m spacy_entlm.workbench.worker FOLDER RUN
"""

import os
import sys
from pathlib import Path

from .runs import Runs

# The page comes before the training.
NICE = 10


def main(folder: Path, number: int) -> None:
    """Do a run that the server began."""
    with Runs(folder).working(number) as kind:
        if kind is not None:
            # Not before the lock, which tells that we live: it takes seconds.
            from .job import Job

            Job(folder, number).run(kind)


if __name__ == "__main__":
    if hasattr(os, "nice"):  # it is this process that is ours
        os.nice(NICE)
    main(Path(sys.argv[1]), int(sys.argv[2]))
