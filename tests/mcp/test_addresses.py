import httpx2
import pytest

from groundwire import ConfigError
from groundwire.mcp.upstream.addresses import GuardedTransport, public_address


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "224.0.0.1", "::1", "fe80::1", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2130706433",
    ],
)  # fmt: skip
async def test_private_addresses_are_refused_however_they_are_written(host):
    with pytest.raises(ConfigError, match="is the private address"):
        await public_address(host, 443)


@pytest.mark.parametrize("host", ["1.1.1.1", "2606:4700:4700::1111"])
async def test_public_addresses_are_not(host):
    assert await public_address(host, 443) == host


async def test_a_request_goes_to_the_address_that_was_checked_and_names_its_host():
    seen = []

    def answer(request):
        seen.append((str(request.url), request.headers["host"], request.extensions["sni_hostname"]))
        return httpx2.Response(200)

    async with httpx2.AsyncClient(transport=GuardedTransport(httpx2.MockTransport(answer))) as client:
        await client.get("https://1.1.1.1:8443/mcp")
        with pytest.raises(ConfigError):
            await client.get("http://127.0.0.1/mcp")
    assert seen == [("https://1.1.1.1:8443/mcp", "1.1.1.1:8443", "1.1.1.1")]
