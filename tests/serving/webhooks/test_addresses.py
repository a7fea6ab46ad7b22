"""Which addresses webhooks may go to, however they are written."""

import socket
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.errors import ConfigError
from groundwire.providers.connecting import Server
from groundwire.serving.webhooks.addresses import AddressRefused, PublicAddresses, check_webhook_target, is_public

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"]


def server(host, *, secure=True):
    return Server(host, 443, secure)


def resolving(*addresses):
    async def resolve(host, port):
        return addresses

    return resolve


@pytest.mark.parametrize("address", PRIVATE)
async def test_an_address_that_is_not_public_is_refused_by_name_and_by_number(address):
    assert not is_public(ip_address(address))
    with pytest.raises(AddressRefused):
        await PublicAddresses(resolve=resolving(address))(server("example.com"))


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254"])
async def test_an_old_address_in_the_dress_of_a_new_one_is_refused(address):
    with pytest.raises(AddressRefused):
        await PublicAddresses()(server(f"::ffff:{address}"))


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0", "localhost", "LOCALHOST", "127.0.0.1", "::1"],
)
async def test_loopback_is_refused_in_all_its_spellings_as_the_system_reads_them(host):
    with pytest.raises(AddressRefused):
        await PublicAddresses()(server(host))


@pytest.mark.parametrize("address", PUBLIC)
async def test_a_public_address_is_given_as_it_was_judged(address):
    assert await PublicAddresses(resolve=resolving(address))(server("example.com")) == [address]


async def test_one_private_address_among_public_ones_is_enough_to_refuse():
    with pytest.raises(AddressRefused):
        await PublicAddresses(resolve=resolving("1.1.1.1", "10.0.0.1"))(server("example.com"))


async def test_a_network_that_was_allowed_is_allowed_and_its_neighbours_are_not():
    addresses = PublicAddresses(["10.1.0.0/16", "::1/128"])
    assert await addresses(server("10.1.255.255")) == ["10.1.255.255"]
    assert await addresses(server("::ffff:10.1.0.1")) == ["10.1.0.1"]
    assert await addresses(server("::1")) == ["::1"]
    for host in ("10.2.0.0", "10.0.255.255", "::2", "127.0.0.1"):
        with pytest.raises(AddressRefused):
            await addresses(server(host))


async def test_without_tls_only_allowed_networks_are_reached():
    with pytest.raises(AddressRefused, match="https"):
        await PublicAddresses(resolve=resolving("1.1.1.1"))(server("example.com", secure=False))
    assert await PublicAddresses(["127.0.0.0/8"])(server("127.0.0.1", secure=False)) == ["127.0.0.1"]


@pytest.mark.parametrize("text", ["", "everything", "10.0.0.1/8", "300.0.0.0/8"])
def test_what_is_no_network_cannot_be_allowed(text):
    with pytest.raises(ConfigError):
        PublicAddresses([text])


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "x" * 300])
async def test_a_host_that_no_resolver_can_be_asked_for_is_refused(host):
    with pytest.raises((AddressRefused, socket.gaierror)):
        await PublicAddresses()(server(host))


@given(st.ip_addresses())
def test_no_public_address_is_private_by_any_standard(address):
    if is_public(address):
        kinds = ("private", "loopback", "link_local", "multicast", "unspecified")
        assert [kind for kind in kinds if getattr(address, f"is_{kind}")] == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "notaurl",
        "ftp://a/b",
        "http://",
        "https:///path",
        "http://[::1",
        "http://a:99999/",
        "http://a b/",
        "https://ü/",
        "//a/b",
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url):
    with pytest.raises(ConfigError):
        check_webhook_target(url)


@pytest.mark.parametrize(
    ("url", "allow", "reason"),
    [
        ("https://10.0.0.7/signals", (), "not public"),
        ("https://[::1]/signals", ("127.0.0.0/8",), "not public"),
        ("http://localhost:8743/signals", (), "not public"),
        ("http://ops.example/signals", (), "only reached by https"),
        ("http://93.184.216.34/signals", ("127.0.0.0/8",), "only reached by https"),
    ],
)
def test_what_could_never_be_sent_to_is_refused_at_once(url, allow, reason):
    with pytest.raises(ConfigError, match=reason):
        check_webhook_target(url, allow)


def test_an_address_and_networks_of_the_right_form_are_fine():
    check_webhook_target("https://ops.example/signals")
    check_webhook_target("http://ops.internal/signals", ["10.0.0.0/8"])
    check_webhook_target("http://localhost:8743/signals", ["127.0.0.0/8"])
    check_webhook_target("http://[::1]:8743/signals", ["::1/128", "127.0.0.0/8"])
    with pytest.raises(ConfigError):
        check_webhook_target("https://ops.example/signals", ["zzz"])
