"""Names of tools: which can be used, and which two nobody could tell apart."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["is_name", "plain_name"]

_NAME = re.compile(r"[\w.:/-]{1,128}")


def is_name(name: object) -> bool:
    """Return whether a tool can be named so."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


_LOOK_ALIKES = str.maketrans(
    "\u0430\u0432\u0435\u0437\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0501\u051b\u051d\u04bb\u04cf\u0261\u0131"
    "\u03b1\u03b2\u03b3\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c3\u03c4\u03c5\u03c7\u03c9\u03b7\u03bc\u03f2\u03f3",
    "abe3ijkmhopctyxsdqwhlgiabyeikvopotuxwnucj",
)
"""Letters of Cyrillic and Greek, and variants of Latin ones, by the Latin letter they look like."""


def plain_name(name: str) -> str:
    """Return a name without what eyes cannot tell: case, Unicode form, look-alike letters."""
    name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return name.translate(_LOOK_ALIKES)
