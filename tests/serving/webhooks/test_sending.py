"""One attempt over a real socket: whatever the receiver does comes out as a result."""

import asyncio
import base64
import json
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks import Webhook

from groundwire.contracts.errors import ConfigError
from groundwire.serving.webhooks.addresses import PublicAddresses
from groundwire.serving.webhooks.attempts import AttemptOutcome
from groundwire.serving.webhooks.sending import MAX_ANSWER, WebhookDelivery, WebhookSender
from groundwire.serving.webhooks.signing import WebhookKey
from groundwire.testing import FakeClock
from tests.serving.webhooks.wire import receiving, status

KEY = f"whsec_{base64.b64encode(bytes(32)).decode()}"
LOOPBACK = ("127.0.0.0/8", "::1/128")


def delivery(url, body=b'{"a": 1}'):
    return WebhookDelivery(url=url, keys=(WebhookKey(KEY),), webhook_id="msg_1", body=body)


async def attempt(url, body=b'{"a": 1}', *, allow=LOOPBACK, **options):
    sender = WebhookSender(allow=allow, **options)
    try:
        return await sender.attempt(delivery(url, body))
    finally:
        await sender.close()


async def test_the_exact_bytes_arrive_and_the_official_library_verifies_them():
    body = '{ "text":"明天" , "n": 1.0}'.encode()
    async with receiving(status("200 OK", body=b"thanks")) as receiver:
        result = await attempt(f"{receiver.url}?shop=7", body)
    [(first, headers, came)] = receiver.requests
    assert (first, came) == ("POST /hook?shop=7 HTTP/1.1", body)
    assert Webhook(KEY).verify(came, headers) == json.loads(body)
    assert headers["content-type"] == "application/json"
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    assert (result.outcome, result.status, result.answer) == (AttemptOutcome.DELIVERED, 200, "thanks")


async def test_each_attempt_has_the_same_id_and_its_own_time():
    clock = FakeClock()
    async with receiving(status("500 Oh")) as receiver:
        sender = WebhookSender(allow=LOOPBACK, clock=clock)
        for _ in range(2):
            await sender.attempt(delivery(receiver.url))
            clock.advance(5)
        await sender.close()
    ids = [headers["webhook-id"] for _, headers, _ in receiver.requests]
    times = [int(headers["webhook-timestamp"]) for _, headers, _ in receiver.requests]
    assert ids == ["msg_1", "msg_1"]
    assert times == [1_700_000_000, 1_700_000_005]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_and_is_not_followed(code):
    async with receiving() as elsewhere, receiving(status(f"{code} There", f"location: {elsewhere.url}")) as receiver:
        result = await attempt(receiver.url)
    assert (result.outcome, result.status, result.error) == (AttemptOutcome.FAILED, code, "redirected")
    assert (len(receiver.requests), elsewhere.requests) == (1, [])


async def test_a_receiver_may_say_that_it_wants_no_more():
    async with receiving(status("410 Gone")) as receiver:
        assert (await attempt(receiver.url)).outcome is AttemptOutcome.GONE


async def test_a_receiver_may_say_how_long_it_needs():
    async with receiving(status("429 Slow", "retry-after: 90")) as receiver:
        result = await attempt(receiver.url)
    assert (result.outcome, result.retry_after) == (AttemptOutcome.SLOW_DOWN, 90.0)


async def test_a_receiver_that_says_nothing_is_given_up():
    async def silent(writer):
        await asyncio.Event().wait()

    async with receiving(silent) as receiver:
        result = await attempt(receiver.url, timeout=0.05)
    assert (result.outcome, result.status, result.error) == (AttemptOutcome.FAILED, 0, "timeout")


async def test_a_receiver_that_drips_its_headers_is_given_up_although_it_is_never_silent():
    async def drip(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"x: y\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)  # how slow this receiver is

    async with receiving(drip) as receiver:
        result = await attempt(receiver.url, timeout=0.3)
    assert (result.outcome, result.status, result.error) == (AttemptOutcome.FAILED, 0, "timeout")


async def test_headers_without_end_are_a_failure():
    async def flood(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"x: y\r\n" * 1000)
            await writer.drain()

    async with receiving(flood) as receiver:
        result = await attempt(receiver.url)
    assert (result.outcome, result.status, result.error) == (AttemptOutcome.FAILED, 0, "connection_broken")


async def test_an_answer_without_end_is_left_and_its_status_counts():
    sent = 0

    async def flood(writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    async with receiving(flood) as receiver:
        result = await attempt(receiver.url)
        await receiver.hung_up.wait()
    assert (result.outcome, result.answer) == (AttemptOutcome.DELIVERED, "x" * 500)
    assert sent < 100 * MAX_ANSWER


async def test_a_body_that_never_ends_does_not_undo_the_status():
    async def hang(writer):
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\n\r\nab")
        await asyncio.Event().wait()

    async with receiving(hang) as receiver:
        result = await attempt(receiver.url, timeout=0.05)
    assert (result.outcome, result.status, result.answer) == (AttemptOutcome.DELIVERED, 202, "ab")


async def test_what_is_not_http_is_a_failure():
    async with receiving(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as receiver:
        result = await attempt(receiver.url)
    assert (result.outcome, result.status, result.error) == (AttemptOutcome.FAILED, 0, "connection_broken")


async def test_a_receiver_that_is_not_there_is_a_failure():
    async with receiving() as receiver:
        pass
    assert (await attempt(receiver.url)).error == "unreachable"
    unknown = await attempt("https://nobody.invalid/hook")
    assert (unknown.outcome, unknown.error) == (AttemptOutcome.FAILED, "unreachable")


@pytest.mark.parametrize(
    "url", ["", "ftp://127.0.0.1/", "http:///hook", "http://[::1/hook", "http://127.0.0.1:0/", "http://ex ample/"]
)
async def test_what_is_no_address_is_a_failure(url):
    assert (await attempt(url)).error == "address_invalid"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_no_byte_reaches_a_private_address_however_it_is_written(host):
    async with receiving() as receiver:
        result = await attempt(f"http://{host}:{receiver.port}/hook", allow=())
    assert (result.outcome, result.error, receiver.requests) == (AttemptOutcome.FAILED, "address_refused", [])


async def test_a_name_is_looked_up_once_and_the_address_that_was_judged_is_connected_to():
    """A name that means a public machine when it is judged, and a private one a moment later, gains nothing."""
    asked = []

    async def rebinding(host, port):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.99"]

    async with receiving() as receiver:
        addresses = PublicAddresses(["127.0.0.1/32"], resolve=rebinding)
        result = await attempt(f"http://shop.example:{receiver.port}/hook", addresses=addresses)
    assert (asked, result.outcome) == (["shop.example"], AttemptOutcome.DELIVERED)
    assert receiver.requests[0][1]["host"] == f"shop.example:{receiver.port}"


async def test_the_next_address_is_tried_where_the_first_takes_no_connection():
    async def two(host, port):
        return ["127.0.0.2", "127.0.0.1"]

    async with receiving() as receiver:
        addresses = PublicAddresses(LOOPBACK, resolve=two)
        assert (await attempt(receiver.url, addresses=addresses)).is_delivered


async def test_no_proxy_of_the_environment_stands_between(monkeypatch):
    async with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://me:secret@127.0.0.1:{proxy.port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert (await attempt(receiver.url)).is_delivered
    [(first, headers, _)] = receiver.requests
    assert (first, headers.get("proxy-authorization"), proxy.requests) == ("POST /hook HTTP/1.1", None, [])


@pytest.fixture
def certified(tmp_path):
    """A server's TLS for `shop.example`, and the file by which it is trusted."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "tls.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, str(file)


async def test_certificates_are_for_the_name_although_the_address_is_connected_to(certified):
    context, ca_file = certified

    async def here(host, port):
        return ["127.0.0.1"]

    async with receiving(ssl=context) as receiver:
        addresses = PublicAddresses(LOOPBACK, resolve=here)
        good = await attempt(f"https://shop.example:{receiver.port}/hook", ca_file=ca_file, addresses=addresses)
        other = await attempt(f"https://other.example:{receiver.port}/hook", ca_file=ca_file, addresses=addresses)
        unknown = await attempt(f"https://shop.example:{receiver.port}/hook", addresses=addresses)
    assert good.is_delivered
    assert (other.error, unknown.error) == ("unreachable", "unreachable")
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(("seconds", "is_good"), [(0, False), (30, True), (30.1, False), (0.1, True)])
async def test_a_receiver_has_at_most_thirty_seconds(seconds, is_good):
    if is_good:
        await WebhookSender(timeout=seconds).close()
    else:
        with pytest.raises(ConfigError):
            WebhookSender(timeout=seconds)
