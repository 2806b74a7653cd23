"""What is wrong with a policy file, and where: one finding after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hitl.errors import BadPolicy

__all__ = ["Finding", "Level", "refuse"]

Level = Literal["error", "warning"]

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check of a policy found.

    Attributes:
        level: ``error``: the policy cannot be used; ``warning``: it says something odd.
        message: What was found, one sentence.
        file: The file's name.
        line: The line, counted from 1; 0 where it concerns the whole file.
        place: Where in the document, such as ``rules[3].where``.
        hint: What to do, may be empty.
    """

    level: Level
    message: str
    file: str = ""
    line: int = 0
    place: str = ""
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        place = f"{self.place}: " if self.place else ""
        hint = f" {self.hint}" if self.hint else ""
        return f"{where}: {self.level}: {place}{self.message}{hint}"


def refuse(name: str, findings: Iterable[Finding]) -> None:
    """Raise one error that lists every finding that is an error, if there is any.

    Raises:
        BadPolicy: At least one is; ``fields["findings"]`` holds them all.
    """
    errors = [finding for finding in findings if finding.level == "error"]
    if not errors:
        return
    count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
    lines = [f"\n  {error}" for error in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        lines.append(f"\n  ... and {len(errors) - _SHOWN} more")
    raise BadPolicy(f"{name} has {count}:{''.join(lines)}", findings=tuple(errors))
