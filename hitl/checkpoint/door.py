"""What may enter a store: the form of thread ids, and texts that every store can hold."""

from __future__ import annotations

from hitl.errors import Misuse

__all__ = ["check_thread_id", "storable"]

_LONGEST = 512


def check_thread_id(value: object) -> str:
    """Return a thread id as text: a string as it is, a UUID in its usual form.

    Args:
        value: 1 to 512 characters without control characters, or a ``uuid.UUID``.

    Raises:
        Misuse: It is anything else; a value that merely looks like an id is not converted.
    """
    if type(value) is not str:
        import uuid  # most threads are named by strings

        if isinstance(value, uuid.UUID):
            return str(value)
        raise Misuse(
            f"A thread_id must be a string, not {type(value).__name__}.",
            hint="Give a str or a uuid.UUID; convert other keys yourself, so that two of them "
            "cannot become one thread by accident.",
            type=type(value).__name__,
        )
    if not 1 <= len(value) <= _LONGEST:
        raise Misuse(
            f"A thread_id must have 1 to {_LONGEST} characters, this one has {len(value)}.",
            hint="Use a short key, such as a UUID.",
            length=len(value),
        )
    if not value.isprintable():
        _refuse_unprintable(value)
    return value


def _refuse_unprintable(value: str) -> None:
    """Raise for control characters and lone surrogates; odd blanks are let through."""
    for place, char in enumerate(value):
        if char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff":
            raise Misuse(
                f"A thread_id holds the character U+{ord(char):04X} at place {place}.",
                hint="Leave out control characters and lone surrogates.",
                place=place,
            )


def storable(text: str) -> str:
    r"""Return a text that is valid UTF-8: lone surrogates are written as ``\udXXX``.

    In a JSON text that is the same value, since there they only stand inside strings.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
