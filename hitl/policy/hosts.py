"""Hosts: whether a URL goes to one of some hosts.

Owns the reading of a URL's host, and reads only URLs that all readers take alike: a scheme of
the web, then a host, printable ASCII throughout. Userinfo, backslashes, blanks, escapes in the
host, odd spellings of numbers and names that are not ASCII are not read: unknown, so it asks.
Where a name leads (DNS, redirects) is not looked up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["compile_hosts", "host_in"]

_LONGEST = 8192
_URL = re.compile(
    r"(?P<scheme>https?|wss?)://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:[/?#][!-\[\]-~]*)?",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"(?P<wild>\*\.)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}


class _Entry(NamedTuple):
    host: str
    wild: bool
    port: int | None


def compile_hosts(hosts: Sequence[str]) -> Callable[[object], bool | None]:
    """Return a function that says whether a URL's host is one of some; None where unknown.

    Args:
        hosts: ``example.com`` (that host, on its scheme's own port), ``example.com:8443`` (on
            that port) or ``*.example.com`` (any host below it, not itself). International
            names are written in their ASCII form (``xn--...``), IPv6 in brackets.

    Raises:
        ValueError: An entry cannot be read; the message names it.
    """
    given: object = hosts
    if not isinstance(given, list | tuple) or not given:
        raise ValueError("give a list of host names")
    entries = [_entry(host) for host in hosts]

    def matches(value: object) -> bool | None:
        read = _read(value)
        if read is None:
            return None
        answers = {_goes_to(entry, *read) for entry in entries}
        return True if True in answers else None if None in answers else False

    return matches


def host_in(value: object, hosts: Sequence[str]) -> bool | None:
    """Return whether a URL's host is one of some, None where unknown; see `compile_hosts`.

    Args:
        value: The argument as the model proposed it; anything.
        hosts: The hosts.

    Raises:
        ValueError: An entry of ``hosts`` cannot be read; the message names it.
    """
    return compile_hosts(hosts)(value)


def _read(value: object) -> tuple[str, int, bool] | None:
    """Return a URL's host, its port, and whether that is the scheme's own."""
    if type(value) is not str or len(value) > _LONGEST:
        return None
    match = _URL.fullmatch(value)
    host = match and _host(match["host"])
    if not match or not host:
        return None
    own = _PORTS[match["scheme"].lower()]
    port = int(match["port"] or own)
    return (host, port, port == own) if 0 < port < 65536 else None


def _entry(text: object) -> _Entry:
    match = _ENTRY.fullmatch(text) if isinstance(text, str) else None
    host = match and _host(match["host"])
    if not match or not host or (match["wild"] and ("[" in host or _is_number(host))):
        raise ValueError(f"{text!r} is no host; write example.com, *.example.com or a.example:8443")
    return _Entry(host, bool(match["wild"]), int(match["port"]) if match["port"] else None)


def _goes_to(entry: _Entry, host: str, port: int, own: bool) -> bool | None:
    """Return whether an entry covers a host and port, None for its host on another port."""
    if host != entry.host if not entry.wild else not host.endswith(f".{entry.host}"):
        return False
    if entry.port is None:
        return True if own else None
    return port == entry.port


def _host(text: str) -> str | None:
    """Return a host in its one spelling, None if it has several readings."""
    text = text.lower()
    if text.startswith("["):
        return _ipv6(text)
    text = text.removesuffix(".")
    labels = text.split(".")
    if len(text) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return None
    if _is_number(text) and not _is_ipv4(labels):
        return None  # 127.1, 0x7f.0.0.1 and 2130706433 are read as addresses by some
    return text


def _is_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _is_ipv4(labels: list[str]) -> bool:
    return len(labels) == 4 and all(
        label.isdecimal() and str(int(label)) == label and int(label) < 256 for label in labels
    )


def _ipv6(text: str) -> str | None:
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(text[1:-1])
    except ValueError:
        return None
    if address.ipv4_mapped or address.sixtofour or address.teredo:
        return None  # another spelling of an IPv4 address
    return f"[{address.compressed}]"
