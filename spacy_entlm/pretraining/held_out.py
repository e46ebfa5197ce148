"""Which lines are kept for measuring."""

import hashlib

HELD_OUT_SALT = b"spacy-entlm held-out"
# So that the share is exact as a float.
HASH_BYTES = 6


def is_held_out(text: str, share: float) -> bool:
    """Whether a line belongs to the part that is kept for measuring.

    text (str): The line; equal lines are always in the same part.
    share (float): Size of that part, from 0 to 1.
    """
    return hash_share(text) < share


def hash_share(text: str) -> float:
    """A number from 0 to below 1 that depends on the text and on nothing else: not on
    the order of lines, a seed, or the model."""
    data = text.encode("utf8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=HASH_BYTES, key=HELD_OUT_SALT).digest()
    return int.from_bytes(digest, "big") / 256**HASH_BYTES
