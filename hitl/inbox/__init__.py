"""Floor 4, the inbox: reviewing what waits in a store. Knows neither engine nor policy."""

from hitl.inbox.desk import Inbox

__all__ = ["Inbox"]
