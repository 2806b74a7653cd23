"""Answers that are remembered: found for a call like the approved one, used, listed, revoked.

A grant is given with a decision, where the item's rules permit it; see ``Inbox.decide``. A use
is taken before the call goes on, so that a crash loses a use and never makes one out of two.
"""

from __future__ import annotations

from hitl.checkpoint import Checkpointer, check_store
from hitl.codec import dumps
from hitl.errors import Conflict, Misuse, Stale, UnknownId
from hitl.ledger import Ask, check_reviewer, grant_keys, read_grant, revoke, spend
from hitl.values import Commit, Draft, Grant, Item, ItemChange, Json, is_id

__all__ = ["Grants"]

_TRIES = 100


class Grants:
    """The grants that are kept in one store.

    Args:
        store: The checkpointer that the runs use.

    Raises:
        Misuse: It is no checkpointer.
    """

    def __init__(self, store: Checkpointer) -> None:
        check_store(store, "store")
        self._store = store

    def find(self, ask: Ask) -> Grant | None:
        """Return a grant that lets a call go on without asking, None where there is none.

        It counts only if it was given under the same policy, rules, schema and version of the
        tool, has uses and time left, and the rules that ask now permit grants at all.

        Args:
            ask: The question that would be put: the call, its fingerprint and its rules.

        Raises:
            StoreFailed: The store could not be read.
        """
        if not isinstance(ask.rules.get("grants"), dict):
            return None
        keys, now = list(grant_keys(ask).values()), self._store.clock.now()
        items = self._store.items(ids=keys, states=("granted",), limit=1000)
        found = [grant for grant in map(read_grant, items) if grant.counts(now)]
        # The narrowest first, and of these the one that ends first.
        return min(found, key=lambda grant: (grant.scope != "same_args", grant.until), default=None)

    def use(self, grant: Grant, *, thread: str = "") -> Grant | None:
        """Take one use from a grant, before the call goes on.

        Args:
            grant: What ``find`` returned.
            thread: Where the call goes on, for the log.

        Returns:
            The grant as it stands then, None where it has ended meanwhile.

        Raises:
            StoreFailed: The store could not write; nothing was used.
        """
        for _ in range(_TRIES):
            item = self._item(grant.id)
            now = self._store.clock.now()
            if item is None or item.state != "granted" or not read_grant(item).counts(now):
                return None
            change = spend(item)
            used = read_grant(change.item)
            if self._commit("use", change, {"left": used.left, "for": thread}):
                return used
        raise Conflict(f"Grant {grant.id} does not come to rest.", hint="Try again.", id=grant.id)

    def list(
        self, *, ended: bool = False, after: tuple[float, str] | None = None, limit: int = 100
    ) -> list[Grant]:
        """Return a page of grants, the oldest first.

        Args:
            ended: Those, too, that are used up, past their end or revoked.
            after: ``(given_at, id)`` of the last grant of the page before.
            limit: How many at the most.

        Raises:
            StoreFailed: The store could not be read.
        """
        states = ("granted", "done", "withdrawn") if ended else ("granted",)
        now = self._store.clock.now()
        found: list[Grant] = []
        while len(found) < limit:
            page = self._store.items(states=states, after=after, limit=1000)
            grants = [read_grant(item) for item in page if item.kind == "grant"]
            found += [grant for grant in grants if ended or grant.counts(now)]
            if len(page) < 1000:
                break
            after = (page[-1].asked_at, page[-1].id)
        return found[:limit]

    def get(self, id: str) -> Grant:
        """Return one grant; the first digits of its id will do where no other begins so.

        Raises:
            UnknownId: There is no such grant, or there are several.
            StoreFailed: The store could not be read.
        """
        if not isinstance(id, str):
            raise Misuse(f"A grant's id is a text, not {type(id).__name__}.", hint="See list().")
        item = self._item(id) if is_id(id) else None
        if item is not None:
            return read_grant(item)
        found = [one for one in self.list(limit=100_000) if len(id) >= 4 and one.id.startswith(id)]
        if len(found) == 1:
            return found[0]
        what = f"{id!r} stands for {len(found)} grants." if found else f"There is no grant {id!r}."
        raise UnknownId(what, hint="List the grants; an id needs at least 4 digits.", id=id)

    def revoke(self, id: str, *, by: str | None = None) -> Grant:
        """Take a grant back: no call goes on by it any more. Doing it again does nothing.

        Args:
            id: The grant's id.
            by: Who takes it back; an opaque id that your program vouches for.

        Raises:
            Misuse: ``id`` or ``by`` is not of its type.
            UnknownId: There is no such grant.
            StoreFailed: The store could not write; nothing was.
        """
        check_reviewer(by, "by")
        for _ in range(_TRIES):
            grant = self.get(id)
            item = self._item(grant.id)
            if item is None or item.state != "granted":
                return grant if item is None else read_grant(item)
            change = revoke(item)
            if self._commit("revoke", change, {"by": by}):
                return read_grant(change.item)
        raise Conflict(f"Grant {id} does not come to rest.", hint="Try again.", id=id)

    def _item(self, id: str) -> Item | None:
        found = self._store.items(ids=[id], limit=1000)
        return next((item for item in found if item.id == id and item.kind == "grant"), None)

    def _commit(self, kind: str, change: ItemChange, more: dict[str, Json]) -> bool:
        """Commit what became of a grant; return False where it has moved meanwhile."""
        grant = read_grant(change.item)
        told: dict[str, Json] = {"grant": grant.id, "name": grant.tool, **more}
        try:
            self._store.append(Commit(grant.thread, (Draft(kind, dumps(told)),), (change,)))
        except Conflict as conflict:
            if "item" not in conflict.fields:
                raise
            return False
        except Stale:  # its thread was deleted
            return False
        return True
