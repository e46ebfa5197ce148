"""What a server counts, for Prometheus."""

from typing import Callable, Tuple

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """Of one server: two in a process do not add up."""

    def __init__(self, n_waiting: Callable[[], float]) -> None:
        """n_waiting (Callable): Tells how many texts wait."""
        own = CollectorRegistry()
        ProcessCollector(registry=own)
        self._registry = own
        self.requests = Counter(
            "entlm_requests", "Requests for entities by status", ["code"], registry=own
        )
        self.seconds = Histogram(
            "entlm_request_seconds", "Until the answer", registry=own, buckets=_SECONDS
        )
        self.batches = Histogram(
            "entlm_batch_texts", "Texts read together", registry=own, buckets=_TEXTS
        )
        self.texts = Counter("entlm_texts", "Texts answered", registry=own)
        self.characters = Counter("entlm_characters", "Of these", registry=own)
        self.entities = Counter("entlm_entities", "Entities found", registry=own)
        self.reloads = Counter(
            "entlm_reloads", "By result: done, failed", ["result"], registry=own
        )
        waiting = Gauge("entlm_waiting_texts", "In the queue", registry=own)
        waiting.set_function(n_waiting)

    def render(self) -> Tuple[bytes, str]:
        """All figures, and the type of this content."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
