"""Floor 4, the inbox: reviewing what waits in a store. Knows neither engine nor policy."""

from hitl.inbox.desk import Inbox
from hitl.inbox.grants import Grants

__all__ = ["Grants", "Inbox"]
