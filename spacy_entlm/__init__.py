"""EntLM for spaCy: few-shot named entity recognition with label words."""

from typing import TYPE_CHECKING, Any

from .about import __version__

if TYPE_CHECKING:
    from .pipeline.confidence import confidence
    from .pipeline.export import export
    from .pipeline.lexicon import add_lexicon
    from .training.calibrate import calibrate
    from .training.recipe import train

__all__ = [
    "__version__",
    "add_lexicon",
    "calibrate",
    "confidence",
    "export",
    "train",
]


def __getattr__(name: str) -> Any:
    # spaCy, Thinc and PyTorch take a second to import: only who trains pays for it.
    if name == "train":
        from .training.recipe import train

        return train
    if name == "add_lexicon":
        from .pipeline.lexicon import add_lexicon

        return add_lexicon
    if name == "calibrate":
        from .training.calibrate import calibrate

        return calibrate
    if name == "confidence":
        from .pipeline.confidence import confidence

        return confidence
    if name == "export":
        from .pipeline.export import export

        return export
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
