"""A URL has many spellings and one meaning: policies are given the meaning."""

import pytest

from checkrein.adapters.addresses import url_fact
from checkrein.errors import CapabilityError

SPELLINGS = {
    "https://API.EVIL.COM/x": ("api.evil.com", "name"),
    "https://api.evil.com./x": ("api.evil.com", "name"),
    "https://api.evil.com": ("api.evil.com", "name"),
    "https://\u212aevin.example": ("kevin.example", "name"),  # the Kelvin sign
    "https://b\u00fccher.example": ("xn--bcher-kva.example", "name"),
    "http://2130706433/": ("127.0.0.1", "loopback"),
    "http://127.1/": ("127.0.0.1", "loopback"),
    "http://0x7f.1/": ("127.0.0.1", "loopback"),
    "http://0/": ("0.0.0.0", "loopback"),  # noqa: S104 - a spelling, not a place to listen at
    "http://[::1]/": ("::1", "loopback"),
    "http://[::ffff:10.1.2.3]/": ("10.1.2.3", "private"),
    "http://[2002:0a01:0203::]/": ("10.1.2.3", "private"),
    "http://169.254.169.254/latest": ("169.254.169.254", "link_local"),
    "http://10.0.0.7:8080/": ("10.0.0.7", "private"),
    "https://8.8.8.8/": ("8.8.8.8", "public"),
}


@pytest.mark.parametrize("url", SPELLINGS)
def test_each_spelling_has_one_meaning(url: str) -> None:
    """Protects host lists from addresses that look like something else."""
    fact = url_fact(url)
    assert (fact.host, str(fact.address)) == SPELLINGS[url]


def test_what_stands_before_an_at_sign_is_no_host() -> None:
    """Protects readers of a URL from a good name in front of a bad host."""
    fact = url_fact("https://good.example@evil.example:8443/x", param="url", method="get")
    assert (fact.host, fact.port, fact.has_userinfo) == ("evil.example", 8443, True)
    assert (fact.param, fact.method, fact.scheme) == ("url", "GET", "https")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/only/a/path",
        "https://",
        "https://a b.example",
        "https://a\x00.example",
        "https:\\\\evil.example",
        "https://example:99999",
        "http://[::1",
        "http://1.2.3.4.5/",
        "http://example.1/",
        "http://999999999999/",
        "https://" + "a" * 9000,
        "https://xn--a-.example/",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(url: str) -> None:
    """Protects: no guess about what a client would make of it."""
    with pytest.raises(CapabilityError) as refused:
        url_fact(url)
    assert refused.value.code == "url_refused"
