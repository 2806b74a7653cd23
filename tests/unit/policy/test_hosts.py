"""Which URLs are read, and whether they go to one of some hosts."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.policy.hosts import compile_hosts, host_in

HOSTS = [
    "example.com",
    "*.good.org",
    "local.test:8080",
    "[::1]:80",
    "127.0.0.1",
    "xn--bcher-kva.ch",
]
TRUE = [
    "https://example.com",
    "https://example.com/",
    "HTTPS://EXAMPLE.com/a?b=c#d",
    "https://example.com:443/x",
    "http://example.com.",
    "wss://example.com/socket",
    "https://a.good.org",
    "https://a.b.good.org/x@y",
    "http://local.test:8080/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://127.0.0.1/x",
    "https://xn--bcher-kva.ch/",
    "https://example.com?x=//other",
    "https://example.com#@evil.com",
]
FALSE = [
    "https://evil.com/example.com",
    "https://example.com.evil.com",
    "https://notexample.com",
    "https://evilgood.org",
    "https://good.org",
    "http://local.test",
    "http://127.0.0.2",
    "https://xn--exmple-cua.com",
    "https://evil.com/?u=https://example.com",
    "http://[::2]/",
]
UNKNOWN = [
    "example.com",
    "//example.com",
    "/x",
    "",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https://",
    "https://user@example.com",
    "https://example.com@evil.com",
    "https://example.com:443@evil.com",
    "https://evil.com\\@example.com",
    "https://example.com\\.evil.com",
    "https:\\\\example.com",
    "https://example.com%2eevil.com",
    "https://%65xample.com",
    " https://example.com",
    "https://example.com ",
    "https://exa\tmple.com",
    "https://example.com/\n",
    "https://example.com/a b",
    "https://\u0435xample.com",
    "https://\uff45xample.com",
    "https://example。com",
    "https://bücher.ch",
    "https://example.com:0/",
    "https://example.com:99999/",
    "https://example.com:8443/",
    "https://example.com:x/",
    "https://example..com",
    "https://-example.com",
    "https://example.com..",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.01/",
    "http://127.0.0.256/",
    "http://1.2.3.4.5/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::1%25eth0]/",
    "http://[::1/",
    "http://[zz]/",
    "file://example.com/etc/passwd",
    "ftp://example.com/",
    "javascript://example.com/%0aalert(1)",
    "https://example.com/" + "a" * 9000,
    None,
    5,
    b"https://example.com",
    ["https://example.com"],
]


@pytest.mark.parametrize(
    ("value", "answer"),
    [*((v, True) for v in TRUE), *((v, False) for v in FALSE), *((v, None) for v in UNKNOWN)],
    ids=lambda value: repr(value)[:40],
)
def test_a_url_goes_to_one_of_the_hosts(value, answer):
    assert host_in(value, HOSTS) is answer


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        "example.com",
        None,
        [""],
        ["*"],
        ["*.*.com"],
        ["https://example.com"],
        ["example.com/x"],
        ["bücher.ch"],
        ["a b"],
        ["127.1"],
        ["*.1.2.3.4"],
        [7],
    ],
)
def test_an_entry_that_cannot_be_read_is_refused(hosts):
    with pytest.raises(ValueError, match=r"host"):
        compile_hosts(hosts)


@given(
    st.text(max_size=30)
    | st.text(alphabet="example.com/@:\\#?%[]0x1~ \t", max_size=24).map("https://{}".format)
)
def test_what_we_call_the_host_is_the_host_to_the_standard_library(value):
    if host_in(value, ["example.com"]) is True:
        assert (urlsplit(value).hostname or "").removesuffix(".") == "example.com"
