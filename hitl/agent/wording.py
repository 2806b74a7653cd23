"""Every text of ours that a model reads, in one place; docs/approval.md shows the same texts.

A text says what happened to one call, whose doing it was, and, where it matters, what not to
do next. Nothing here decides anything.
"""

from __future__ import annotations

__all__ = [
    "ASKED_ENOUGH",
    "DENIED",
    "DID_NOT_COMPLETE",
    "EDITED",
    "EXPIRED",
    "GIVEN_UP",
    "LATE",
    "NOT_APPROVED",
    "NOT_JSON",
    "NOT_KEPT",
    "NOT_KNOWN",
    "NOT_READABLE",
    "REJECTED",
    "REJECTED_WHY",
    "REPEATED",
    "STOPPED",
    "STRUCTURED",
    "STRUCTURED_EARLY",
    "STRUCTURED_ERROR",
    "STRUCTURED_TWICE",
    "TOOL_CALL_ERROR_TEMPLATE",
    "UNKNOWN_TOOL",
]

# --- decisions of people ----------------------------------------------------------------

REJECTED = (
    "The user rejected the call of {name!r} (id {id}). It was not executed. Do not call it "
    "again unless the user asks for it."
)
REJECTED_WHY = (
    "The user rejected the call of {name!r}; it was not executed. Their reason: {message}"
)
EXPIRED = "The call of {name!r} was not executed: {message}."
EDITED = "A reviewer changed this call. What ran: {name} with {args}. Its result:\n"
STOPPED = (
    "The call of {name!r} was not executed: the user rejected another call of this turn, which "
    "stops the run."
)
ASKED_ENOUGH = (
    "The user was not asked about the call of {name!r} again; it was not executed. They have "
    "rejected exactly this call before, times: {times}. Do something else, or tell the user."
)

# --- rules ------------------------------------------------------------------------------

DENIED = "The call of {name!r} is not allowed here; it was not executed. {why}"
NOT_APPROVED = (
    "The call of {name!r} was not executed: it has no approval that could be used. "
    "Propose it again if it is still wanted."
)
REPEATED = (
    "The call of {name!r} was started before and is not declared safe to repeat, so it was "
    "not started again. What came of it before: {before}"
)
LATE = "The call of {name!r} was answered before, so it was not started any more."

# --- tools ------------------------------------------------------------------------------

UNKNOWN_TOOL = "There is no tool {name!r}.{near} Known tools: {known}."
NOT_JSON = "The call of {name!r} was not executed: its arguments are not plain JSON ({error})."
TOOL_CALL_ERROR_TEMPLATE = "The tool failed: {error}"
NOT_KEPT = "The call of {name!r} ran, but its result cannot be kept: {problem}"

# --- calls that were left ---------------------------------------------------------------

GIVEN_UP = (
    "The call of {name!r} was started, but its outcome is not known, and the user gave it up. "
    "Do not call it again unless the user asks for it.{message}"
)
DID_NOT_COMPLETE = (
    "The call of {name!r} (id {id}) did not complete: the conversation went on before it was "
    "decided or run. No result is recorded."
)
NOT_KNOWN = (
    "The call of {name!r} (id {id}) was started, but its outcome is not known. Do not assume "
    "that it happened or that it did not."
)
NOT_READABLE = (
    "The call of {name!r} (id {id}) could not be run: its arguments were malformed or cut off."
)

# --- structured answers -----------------------------------------------------------------

STRUCTURED = "The structured answer was taken: {answer}"
STRUCTURED_ERROR = "The structured answer was not taken: {error} Correct it and give it again."
STRUCTURED_EARLY = (
    "The structured answer was not taken: other calls were made in the same turn. Give it again "
    "once you have read what became of them."
)
STRUCTURED_TWICE = "Several answers were given ({names}) where one is wanted."
