"""The command `crossval`: how well a training works on data without a test part."""

from pathlib import Path
from typing import Any, Dict, Optional

import typer
from spacy.cli._util import import_code, parse_config_overrides, setup_gpu

from ..corpus.reading_report import format_counts
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.file import check_extension, check_output, replace_file
from ._options import CONFIG, FORMAT, arg, command, flag, opt
from ._util import GOES_ON, echo, progress_bar

DEFAULT_FOLDER = Path("build") / "crossval"


@command("crossval", overrides=True, stopped=GOES_ON)
def crossval_cli(
    ctx: typer.Context,
    config_path: Path = CONFIG,
    data_path: Path = arg("DATA", "Annotated file that `convert` reads"),
    folds: int = opt(3, "Number of parts, each of which is held out once", min=2),
    repeats: int = opt(
        1, "How often all is done, each time with other parts; 3 is surer", min=1
    ),
    seed: int = opt(1, "Seed of the first division into parts", min=0),
    out: Optional[Path] = opt(
        None,
        "Report, .html, .md or .json; results of finished trainings are kept beside it",
        show_default=f"{DEFAULT_FOLDER}/DATA.html",
    ),
    curve: bool = opt(
        False, "Train on 1/4, 1/2 and 3/4 of the examples, too, to see if more help"
    ),
    overwrite: bool = flag("--overwrite", "Replace a report of other settings"),
    format: str = FORMAT,
    code_path: Optional[Path] = opt(
        None, "Python file with functions that the config names", "--code", "-c"
    ),
    gpu_id: int = opt(-1, "Number of the GPU; -1: the CPU", "--gpu-id", "-g"),
) -> None:
    """Tell whether a training is usable, if you have no test part.

    The sentences are divided into parts. Each part is held out once: the model learns
    from the others, and is measured on this one (cross-validation). The report shows
    F1 with its interval, in all and of each class, and the sentences that went wrong.
    With --curve it also shows whether more examples would help.

    For a hundred sentences or more, the 3 trainings take about 3 minutes on two cores.
    More folds let each training learn from more of the sentences, and take longer, as
    do --curve and --repeats. A run that was stopped goes on where it was if you call
    it again.

    \b
    Example:
      python -m spacy entlm crossval configs/entlm.cfg train.spacy \\
        --paths.backbone bert-base-cased --folds 5 --repeats 3
    """
    overrides = parse_config_overrides(ctx.args)
    out = out or DEFAULT_FOLDER / f"{data_path.stem}.html"
    from ..evaluation.crossval.report import EXTENSIONS, render, screen_lines

    check_extension(out, EXTENSIONS)
    check_output(out, source=data_path)
    _check_paths(overrides)

    from ..corpus.readers import read_docs
    from ..evaluation.crossval.result import summarise
    from ..evaluation.crossval.run import Settings, run_trainings, usable_docs
    from ..evaluation.crossval.training import Trainer

    setup_gpu(gpu_id, silent=True)
    import_code(code_path)
    trainer = Trainer(config_path, overrides)
    docs, report = read_docs(
        data_path, trainer.nlp, format=format, progress=progress_bar
    )
    problems = report.problems()
    docs = usable_docs(docs, folds, problems.append)
    echo(
        f"{report.understood}: {count_of(len(docs), 'sentences')}, "
        f"{count_of(report.entities.total(), 'entities')}",
        *format_counts(report.entities),
        *(f"Warning: {problem}" for problem in problems),
    )
    settings = Settings(folds, repeats, seed, curve)
    outcomes = run_trainings(
        trainer, docs, settings, out, overwrite=overwrite, notify=echo
    )
    result = summarise(docs, outcomes)
    paths = {"config": config_path, "data": data_path}
    values = {**paths, **overrides, **settings._asdict()}
    shown = {name: str(value) for name, value in values.items()}
    replace_file(out, render(result, shown, out).encode("utf8", "replace"))
    echo("", *screen_lines(result), "")
    if not curve:
        echo("Would more examples help? --curve tells, with some more trainings")
    echo(f"Wrote {out}")


def _check_paths(overrides: Dict[str, Any]) -> None:
    """A file that is named and not there would be passed over by readers that take
    what there is."""
    for name, value in overrides.items():
        # A name on the hub has no extension of a file.
        is_file = str(value).endswith((".json", ".jsonl", ".spacy"))
        if name.startswith("paths.") and is_file and not Path(value).exists():
            raise DataError(f"{value}: no such file (--{name})")
