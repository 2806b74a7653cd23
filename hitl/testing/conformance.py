"""The promises of a checkpointer as tests, for the stores of this library and for your own.

Subclass in a test module and say how a store is made; pytest finds the rest::

    class TestMyStore(CheckpointerConformance):
        def make(self, clock, folder):
            return MyStore(folder / "threads", clock=clock)

Knows the port only. The rules by which items move are not a store's matter.
"""

from __future__ import annotations

from hitl.testing.item_promises import ItemPromises
from hitl.testing.lease_promises import LeasePromises
from hitl.testing.log_promises import LogPromises
from hitl.testing.retention_promises import RetentionPromises

__all__ = ["CheckpointerConformance"]


class CheckpointerConformance(LogPromises, ItemPromises, LeasePromises, RetentionPromises):
    """What every checkpointer promises, one test each; say in ``make`` how yours is made."""
