"""Asking a person in the terminal, item by item: the facts first, then an explicit word.

Only a whole word of the item's own list, or its letter, decides. Enter alone, end of input,
Ctrl-C and every error leave the item as it is.
"""

from __future__ import annotations

import json
from typing import Protocol

from hitl.cli import facts
from hitl.cli.deciding import decide, edited, read_answer, read_arguments
from hitl.cli.looking import print_item
from hitl.cli.screen import Screen
from hitl.cli.session import UNNAMED
from hitl.errors import Conflict, Expired, HitlError, Stale, StoreFailed, UnknownId
from hitl.inbox import Inbox
from hitl.ledger import progress
from hitl.values import Item, Json

__all__ = ["Asker", "Person"]

LETTERS = {
    "approve": "a",
    "edit": "e",
    "reject": "r",
    "respond": "s",
    "retry": "t",
    "answer": "w",
}
_COLLAPSE = 1000


class Person(Protocol):
    """Who is asked; see ``hitl.cli.terminal.Terminal``."""

    def read(self, prompt: str) -> str | None:
        """Return the line that is typed, None where the person leaves."""
        ...

    def edit(self, text: str) -> str | None:
        """Return the text as edited, None where it was not changed."""
        ...


class _Left(Exception):
    """The person left; nothing more is asked."""


class Asker:
    """Puts items to a person and takes their decisions.

    Args:
        screen: Where the facts are shown.
        desk: Where decisions go.
        person: Who is asked.
        by: The name that decisions are kept under.
    """

    def __init__(self, screen: Screen, desk: Inbox, person: Person, by: str | None) -> None:
        self._screen = screen
        self._desk = desk
        self._person = person
        self._by = by
        self._hinted = by is not None

    def ask(self, items: list[Item]) -> bool:
        """Ask for each item, and return whether all of them are decided now."""
        decided = 0
        try:
            for number, item in enumerate(items, 1):
                self._screen.say()
                self._screen.say(f"{number} of {len(items)} waits for you", "bold yellow")
                print_item(self._screen, item, self._desk.store.clock.now(), limit=_COLLAPSE)
                decided += self._one(item)
        except _Left:
            self._screen.say("Nothing more was decided.")
        return decided == len(items)

    def _one(self, item: Item) -> bool:
        """Ask until an item is decided (True) or left alone (False)."""
        while True:
            word = self._word(item)
            if not word:
                self._screen.say("Left open.")
                return False
            try:
                settled = self._decide(item, word)
            except StoreFailed:
                raise
            except (Conflict, Expired, Stale, UnknownId) as error:
                # Somebody else, the thread or the deadline was faster: nothing is left to ask.
                self._screen.error(error.message, error.hint)
                return isinstance(error, Conflict)
            except HitlError as error:
                self._screen.error(error.message, error.hint)
                continue
            if settled is not None and settled.decision is not None:
                self._screen.say(facts.decision_line(settled.decision), "bold green")
                self._hint()
                return True
            if settled is not None:
                self._screen.say(f"Your vote is kept: {progress(settled)}.", "bold green")
                return False

    def _hint(self) -> None:
        """Say once how a reviewer is named, where this one is not."""
        if not self._hinted:
            self._screen.say(UNNAMED.format("--reviewer"))
        self._hinted = True

    def _word(self, item: Item) -> str:
        """Return the word that a person chose, empty to leave the item alone."""
        letters = {LETTERS[word]: word for word in item.allowed if word in LETTERS}
        offered = ", ".join(f"{word} ({letter})" for letter, word in letters.items())
        while True:
            typed = self._line(f"{offered}, v to view it whole, Enter to leave it open:").lower()
            if typed in ("v", "view"):
                print_item(self._screen, item, self._desk.store.clock.now())
            elif not typed or typed in letters.values():
                return typed
            elif typed in letters:
                return letters[typed]
            else:
                self._screen.say(f"{typed!r} is none of these.")

    def _decide(self, item: Item, word: str) -> Item | None:
        """Decide an item; None where the person went back."""
        more: Json = None
        if word == "edit":
            more = self._edited(item)
        elif word == "respond":
            more = self._line("The result, as the agent shall see it (Enter goes back):") or None
        elif word == "reject":
            more = self._line("Why, for the agent (Enter says nothing):") or None
        elif word == "answer":
            typed = self._line("Your answer, JSON or text (Enter goes back):")
            return self._settle(item, word, read_answer(typed)) if typed else None
        if more is None and word in ("edit", "respond"):
            return None
        return self._settle(item, word, more)

    def _settle(self, item: Item, word: str, more: Json) -> Item:
        return decide(self._desk, item, word, more, by=self._by)

    def _edited(self, item: Item) -> Json:
        before = dict(facts.arguments(item))
        text = self._person.edit(json.dumps(before, indent=2))
        new = before if text is None else read_arguments(text)
        if not facts.changes(before, new):
            self._screen.say("Nothing was changed.")
            return None
        action = edited(item, new)
        self._screen.say("The edit:")
        self._screen.facts(facts.edit_rows(item, action))
        typed = self._line("Type edit (e) to run it so, Enter goes back:").lower()
        return action if typed in ("edit", "e") else None

    def _line(self, prompt: str) -> str:
        line = self._person.read(prompt)
        if line is None:
            raise _Left
        return line
