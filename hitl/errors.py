"""Every error of the house, under one root, by who must act.

    HitlError
    ├── Misuse        your code must change: wrong call, wrong config, wrong answer
    ├── Refused       a policy, a rule of an item or a person said no
    ├── Conflict      someone else was first
    ├── Stale         the world moved on since you looked
    ├── StoreFailed   the store cannot be read or written
    └── Broken        a fault of ours

Each error says what happened, where, and (as ``hint``) what to do. ``code`` is stable and
meant for programs; ``fields`` holds the facts of the message. This module imports nothing.
"""

from __future__ import annotations

__all__ = [
    "AlreadyDecided",
    "BadPolicy",
    "Broken",
    "Busy",
    "Conflict",
    "Damaged",
    "EmptyInputError",
    "Expired",
    "GraphRecursionError",
    "HitlError",
    "InvalidUpdateError",
    "Misuse",
    "NewerStore",
    "NoCheckpointer",
    "NoThreadId",
    "NodeTimeoutError",
    "NotAllowed",
    "NotStorable",
    "NotSupported",
    "NothingWaiting",
    "OutcomeUnknown",
    "OutsideRoot",
    "OutsideRun",
    "Refused",
    "Stale",
    "StoreFailed",
    "UnknownId",
    "WrongAnswer",
]


class HitlError(Exception):
    """Root of all errors of this library.

    Args:
        message: What happened and where, one sentence.
        hint: What to do about it; empty where the message says it all.
        **fields: The facts of the message, for programs.
    """

    code = "hitl"

    def __init__(self, message: str, *, hint: str = "", **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint, self.fields))


def _rebuild(
    kind: type[HitlError], message: str, hint: str, fields: dict[str, object]
) -> HitlError:
    return kind(message, hint=hint, **fields)


class Misuse(HitlError, ValueError):
    """The calling code must change; nothing was run and nothing was stored."""

    code = "misuse"


class NotSupported(Misuse, NotImplementedError):
    """What was asked for is known, and not had here."""

    code = "not_supported"


class NoCheckpointer(Misuse, RuntimeError):
    """A pause was asked of a graph that cannot save one."""

    code = "no_checkpointer"


class NoThreadId(Misuse):
    """A checkpointer is there, but the config names no thread."""

    code = "no_thread_id"


class OutsideRun(Misuse, RuntimeError):
    """Something that only works inside a running node was called outside one."""

    code = "outside_run"


class NothingWaiting(Misuse):
    """An answer was given to a thread on which nothing waits."""

    code = "nothing_waiting"


class WrongAnswer(Misuse):
    """An answer has the wrong form or number, or cannot be told to one question."""

    code = "wrong_answer"


class UnknownId(Misuse):
    """An id names nothing that waits here."""

    code = "unknown_id"


class NotStorable(Misuse, TypeError):
    """A value cannot be written to the log; ``fields["path"]`` says where it sits."""

    code = "not_storable"


class BadPolicy(Misuse):
    """A policy file cannot be used; ``fields["findings"]`` lists everything that is wrong."""

    code = "bad_policy"


class InvalidUpdateError(Misuse):
    """A node wrote something that the state's channels cannot take."""

    code = "invalid_update"


class EmptyInputError(Misuse):
    """A run was started with nothing to do."""

    code = "empty_input"


class GraphRecursionError(Misuse, RecursionError):
    """A run took more supersteps than its limit allows."""

    code = "recursion_limit"


class NodeTimeoutError(HitlError, TimeoutError):
    """A node took longer than its ``timeout``; it was cancelled."""

    code = "node_timeout"


class Refused(HitlError):
    """A policy, a rule of the item or a person said no; the item is as it was."""

    code = "refused"


class NotAllowed(Refused, ValueError):
    """The decision is not among those that the item allows, or its edit does not fit."""

    code = "not_allowed"


class Expired(Refused):
    """The item's deadline has passed: ``at`` says when. Its call never runs."""

    code = "expired"


class OutcomeUnknown(Refused):
    """A call was started and its result is not known; a human must settle it first."""

    code = "outcome_unknown"


class OutsideRoot(Refused, PermissionError):
    """A path does not lead to an ordinary file inside the root that was named."""

    code = "outside_root"


class Conflict(HitlError):
    """Someone else was first."""

    code = "conflict"


class AlreadyDecided(Conflict):
    """The item has another decision already: ``by``, ``decision`` and ``at`` say which."""

    code = "already_decided"


class Busy(Conflict):
    """Another run holds the thread. A decision sent with the call has been kept."""

    code = "busy"


class Stale(HitlError):
    """What was looked at has changed since: thread, item or code."""

    code = "stale"


class StoreFailed(HitlError):
    """The store could not be opened, read or written; what was committed is intact."""

    code = "store_failed"


class NewerStore(StoreFailed):
    """The file was written by a newer version of this library; it was not touched."""

    code = "newer_store"


class Damaged(StoreFailed):
    """An entry of the log cannot be read back; other threads are not affected."""

    code = "damaged"


class Broken(HitlError):
    """A fault of this library; please report it with the text of this error."""

    code = "broken"
