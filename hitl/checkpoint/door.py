"""What may enter a store: thread ids, texts that every store can hold, requests for pages."""

from __future__ import annotations

from hitl.errors import Misuse

__all__ = ["check_filters", "check_limit", "check_store", "check_thread_id", "storable"]

_LONGEST = 512
_MOST = 2**63 - 1


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


def check_limit(value: object) -> int:
    """Return how many rows a page may have: a whole number, and none for one below zero.

    Raises:
        Misuse: It is no whole number.
    """
    if type(value) is not int:
        raise Misuse(
            f"limit must be a whole number, not {value!r}.", hint="Ask for a page of 100, say."
        )
    return max(0, min(value, _MOST))


def check_filters(ids: object, states: object, after: object) -> None:
    """Refuse filters of items that would silently find nothing, or fail within a store.

    Raises:
        Misuse: ``ids`` or ``states`` is one text, or ``after`` is no place in a listing.
    """
    for name, value in (("ids", ids), ("states", states)):
        if isinstance(value, str):
            raise Misuse(f"{name} is the text {value!r}.", hint=f"Give a list: [{value!r}].")
    if after is None:
        return
    place = after if isinstance(after, tuple | list) else ()
    if [type(part) for part in place] not in ([float, str], [int, str]):
        raise Misuse(
            f"after must be (asked_at, id), not {after!r}.",
            hint="Take both from the last item of the page before.",
        )


_VERBS = ("append", "load", "items", "threads", "entries", "delete_thread", "close")


def check_store(value: object, what: str) -> None:
    """Refuse what is no checkpointer, and say what it lacks.

    Args:
        value: What was given as one.
        what: The parameter, for the error.

    Raises:
        Misuse: A verb or an attribute of ``Checkpointer`` is not there.
    """
    lacking = [name for name in _VERBS if not callable(getattr(value, name, None))]
    lacking += [name for name in ("blocking", "clock") if not hasattr(value, name)]
    if isinstance(value, type) or lacking:
        found = f"a {type(value).__name__}"
        if isinstance(value, type):
            found = f"the class {value.__name__}"
        why = f"; it lacks {', '.join(lacking)}" if 0 < len(lacking) < len(_VERBS) else ""
        raise Misuse(
            f"{what} is {found}, which is no checkpointer{why}.",
            hint="Give SqliteSaver('runs.db'), or InMemorySaver() in tests.",
        )
