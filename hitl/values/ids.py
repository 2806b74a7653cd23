"""How each id follows from its position.

A thread has a random salt, written with its first entry. Ids are keyed hashes of a position
under that salt: the same after a restart, another one after a fork, not to be guessed.
"""

from __future__ import annotations

import hashlib
import os

__all__ = ["checkpoint_id", "derive", "is_id", "new_salt", "parse_checkpoint_id"]

_HEX = frozenset("0123456789abcdef")
_WIDTH = 12


def new_salt() -> str:
    """Return 32 random hex digits."""
    return os.urandom(16).hex()


def derive(salt: str, *position: str | int) -> str:
    """Return the id (32 hex digits) of a position, such as ``("ask", 7, "node", 0)``."""
    text = repr(position).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=16, key=salt.encode("ascii")).hexdigest()


def is_id(text: object) -> bool:
    """Return whether a value has the form of an id: a string of 32 lower-case hex digits."""
    return isinstance(text, str) and len(text) == 32 and _HEX.issuperset(text)


def checkpoint_id(seq: int) -> str:
    """Return the number of an entry as a string that sorts as the numbers do."""
    return str(seq).zfill(_WIDTH)


def parse_checkpoint_id(text: str) -> int:
    """Return the entry number that a checkpoint id stands for, or 0 where it is none."""
    return int(text) if len(text) == _WIDTH and text.isascii() and text.isdigit() else 0
