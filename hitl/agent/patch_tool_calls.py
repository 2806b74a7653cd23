"""``PatchToolCallsMiddleware``: the repair of an abandoned history, as middleware.

Agents of this library repair their history by themselves, before new input is written behind
it; this is the same repair for graphs of one's own, and for code that calls it by hand.
"""

from __future__ import annotations

from typing import Any

from hitl.agent.messages import REMOVE_ALL_MESSAGES, RemoveMessage
from hitl.agent.middleware import AgentMiddleware, Update
from hitl.agent.repair import repaired
from hitl.agent.turns import messages_of
from hitl.engine import Runtime

__all__ = ["PatchToolCallsMiddleware"]


class PatchToolCallsMiddleware(AgentMiddleware):
    """Gives every tool call without an answer one, right behind its turn."""

    def before_agent(self, state: Any, runtime: Runtime) -> Update:  # noqa: ARG002 - the hook's form
        """Return the messages with the missing answers, None where none is missing.

        Args:
            state: The state, with ``messages``.
            runtime: Not looked at.
        """
        whole = repaired(messages_of(state))
        if whole is None:
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole]}
