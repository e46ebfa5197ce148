"""How much is taken, and how long it may take."""

from dataclasses import dataclass

from ..files.errors import DataError


@dataclass(frozen=True)
class Limits:
    """Of a server.

    bytes (int): Of a request.
    texts (int): Of a request.
    characters (int): Of a text.
    seconds (float): Until an answer, from the moment that the request began.
    queue (int): Texts that wait; what comes when there are more is refused.
    batch (int): Texts that are read together. A request is not divided: its last one
        may bring more.
    wait (float): Seconds that a request waits for others to be read with.
    """

    bytes: int = 1 << 20
    texts: int = 256
    characters: int = 100_000
    seconds: float = 30.0
    queue: int = 1024
    batch: int = 128
    wait: float = 0.005

    def __post_init__(self) -> None:
        """RAISES (DataError): If the largest request could never wait."""
        if self.texts > self.queue:
            problem = f"texts of a request ({self.texts}) are more than may wait"
            raise DataError(f"{problem} ({self.queue}): give the queue more")
