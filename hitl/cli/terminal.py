"""A person at a terminal: what they type, and their editor. Knows nothing of decisions."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from hitl.cli.screen import Screen
from hitl.errors import Misuse

__all__ = ["Terminal"]


class Terminal:
    """Standard input and output, where both are a terminal.

    Args:
        screen: Where prompts are printed.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def is_there(self) -> bool:
        """Return whether a person can be asked here."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def read(self, prompt: str) -> str | None:
        """Return the line that is typed after the prompt, None for end of input or Ctrl-C.

        What was typed before the prompt stood there is dropped: it cannot be meant for it.
        """
        try:
            self._forget()
            self._screen.prompt(prompt)
            line = sys.stdin.readline()
        except (KeyboardInterrupt, OSError, UnicodeDecodeError):
            line = ""
        # A line without its end was cut off: nobody pressed Enter.
        if not line.endswith("\n"):
            self._screen.say()
            return None
        return line.strip()

    def edit(self, text: str) -> str | None:
        """Return a text as it was saved in the editor, None where it was not changed.

        Raises:
            Misuse: The editor cannot be started, or failed.
        """
        import click

        try:
            return click.edit(text, extension=".json")
        except click.ClickException as error:
            editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
            raise Misuse(
                f"The editor {editor!r} failed: {error.format_message()}",
                hint="Set EDITOR, or decide with `hitl edit ITEM --args JSON`.",
            ) from error

    @staticmethod
    def _forget() -> None:
        try:
            import termios
        except ImportError:  # not on this system
            return
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
