"""An answer that is remembered: which calls it lets go on, how often, until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hitl.values.jsonable import Json

__all__ = ["Grant", "GrantScope"]

GrantScope = Literal["same_args", "same_tool"]
"""``same_args``: exactly the approved call again; ``same_tool``: whatever the same rules ask
about of its tool."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A remembered answer, as it stands.

    Attributes:
        id: 32 hex digits.
        thread: The thread on which it was given, and with which it goes.
        tool: The tool's name.
        args: The arguments of the approved call.
        scope: Which calls it is for.
        uses: How often it could be used.
        left: How often it still can.
        given_at: When, by the store's clock.
        until: When it ends.
        by: Who gave it; of several, whose vote was the last that was needed.
        fingerprint: Of the approved call.
        policy_id: The hash of the policy that asked.
        rule_ids: The rules that asked.
        schema_hash: Of the tool's arguments.
        tool_version: The tool's version, empty where it has none.
        revoked: Whether it was taken back.
    """

    id: str
    thread: str
    tool: str
    args: Json
    scope: GrantScope
    uses: int
    left: int
    given_at: float
    until: float
    by: str
    fingerprint: str
    policy_id: str = ""
    rule_ids: tuple[str, ...] = ()
    schema_hash: str = ""
    tool_version: str = ""
    revoked: bool = False

    def counts(self, at: float) -> bool:
        """Return whether it can be used at a time of the store's clock."""
        return self.left > 0 and not self.revoked and at < self.until
