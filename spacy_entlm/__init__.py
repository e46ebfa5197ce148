"""EntLM for spaCy: few-shot named entity recognition with label words."""

from typing import TYPE_CHECKING, Any

from .about import __version__

if TYPE_CHECKING:
    from .pipeline.confidence import confidence
    from .training.recipe import train

__all__ = ["__version__", "confidence", "train"]


def __getattr__(name: str) -> Any:
    # spaCy, Thinc and PyTorch take a second to import: only who trains pays for it.
    if name == "train":
        from .training.recipe import train

        return train
    if name == "confidence":
        from .pipeline.confidence import confidence

        return confidence
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
