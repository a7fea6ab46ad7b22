"""What a server may do with a connection, said in bytes: the client comes to the right answer or to a named failure."""

import asyncio
import contextlib
import gc
import socket
import ssl
import warnings
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.providers import connections
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import HttpRequest, Timeouts, TransportError

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
NOT_HTTP = (FailureKind.BAD_RESPONSE, "The answer is not HTTP.")
BROKEN = (FailureKind.BAD_RESPONSE, "The connection broke before the answer was complete.")


class Server:
    """Each connection is served by `talk`, one request after the other; heads of requests and bodies are kept."""

    def __init__(self, talk):
        self.talk = talk
        self.heads = []
        self.connections = 0
        self.hung_up = asyncio.Event()

    async def __call__(self, reader, writer):
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
                length = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                if length:
                    await reader.readexactly(int(length[0].partition(":")[2]))
                if not await self.talk(number, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()


@contextlib.asynccontextmanager
async def listening(serve, **options):
    """The port; connections are over when it is."""
    tasks = set()

    async def accept(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async with asyncio.timeout(30):
        async with await asyncio.start_server(accept, "127.0.0.1", 0, **options) as server:
            yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*tasks)


@contextlib.asynccontextmanager
async def talking(talk, **options):
    server = Server(talk)
    async with listening(server, **options) as server.port:
        server.url = f"http://127.0.0.1:{server.port}"
        yield server


def saying(*pieces: bytes, stays: bool = True):
    async def talk(_number, writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return stays

    return talk


@contextlib.asynccontextmanager
async def client_of(**options):
    client = SocketTransport(**options)
    try:
        yield client
    finally:
        await client.close()


async def ask(client, url, **options):
    response = await client.send(HttpRequest(url=url, **options))
    return response.status, await response.read()


async def failure_of(client, url, **options):
    with pytest.raises(TransportError) as caught:
        await ask(client, url, **options)
    return caught.value.kind, caught.value.message


async def test_requests_one_after_the_other_share_a_connection():
    async with talking(saying(OK)) as server, client_of() as client:
        assert [await ask(client, server.url) for _ in range(3)] == [(200, b"ok")] * 3
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own():
    both = asyncio.Barrier(2)

    async def talk(_number, writer):
        await both.wait()
        writer.write(OK)
        return True

    async with talking(talk) as server, client_of() as client:
        assert await asyncio.gather(ask(client, server.url), ask(client, server.url)) == [(200, b"ok")] * 2
        assert server.connections == 2


@pytest.mark.parametrize(
    "closing",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ],
)
async def test_a_server_that_says_it_closes_gets_a_new_connection_for_the_next_request(closing):
    async with talking(saying(closing)) as server, client_of() as client:
        assert [await ask(client, server.url) for _ in range(2)] == [(200, b"ok")] * 2
        assert server.connections == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced_unnoticed():
    async with talking(saying(OK, stays=False)) as server, client_of() as client:
        assert [await ask(client, server.url) for _ in range(5)] == [(200, b"ok")] * 5
        assert server.connections == 5


async def test_a_request_on_a_used_connection_that_gets_no_byte_is_sent_once_more():
    async def talk(number, writer):
        if number == 1 and len(server.heads) == 2:
            return False
        writer.write(OK)
        return True

    async with talking(talk) as server, client_of() as client:
        assert [await ask(client, server.url) for _ in range(2)] == [(200, b"ok")] * 2
        assert (server.connections, len(server.heads)) == (2, 3)


async def test_a_request_that_got_half_an_answer_is_not_sent_again():
    async def talk(_number, writer):
        writer.write(OK if len(server.heads) == 1 else b"HTTP/1.1 200")
        return len(server.heads) == 1

    async with talking(talk) as server, client_of() as client:
        assert await ask(client, server.url) == (200, b"ok")
        assert await failure_of(client, server.url) == BROKEN
        assert len(server.heads) == 2


async def test_a_connection_that_was_idle_for_too_long_is_not_trusted():
    async with talking(saying(OK)) as server, client_of(max_idle=0.0) as client:
        assert [await ask(client, server.url) for _ in range(2)] == [(200, b"ok")] * 2
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx: 1\r\n\r\n" + OK, (200, b"ok")),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nx-after: 1\r\n\r\n", (200, b"ok")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", (200, b"")),
        (OK + OK, (200, b"ok")),
        (OK + b"nonsense", (200, b"ok")),
    ],
)
async def test_answers_of_every_form_are_read(answer, expected):
    async with talking(saying(answer)) as server, client_of() as client:
        assert [await ask(client, server.url) for _ in range(2)] == [expected] * 2


async def test_an_answer_without_a_length_ends_with_its_connection():
    async with (
        talking(saying(b"HTTP/1.1 200 OK\r\n\r\n", b"all ", b"of it", stays=False)) as server,
        client_of() as client,
    ):
        assert await ask(client, server.url) == (200, b"all of it")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", BROKEN),
        (b"HTTP/1.1 200 OK\r\n", BROKEN),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", BROKEN),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", BROKEN),
        (b"220 smtp.example ESMTP\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", NOT_HTTP),
        (b"\x16\x03\x01\x02\x00", NOT_HTTP),
    ],
)
async def test_what_is_no_whole_answer_is_a_named_failure(answer, expected):
    async with talking(saying(answer, stays=False)) as server, client_of() as client:
        assert await failure_of(client, server.url) == expected


async def test_what_came_before_a_break_is_handed_on_first():
    broken = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n"
    async with talking(saying(broken, stays=False)) as server, client_of() as client:
        response = await client.send(HttpRequest(url=server.url))
        assert await response.piece() == b"first"
        with pytest.raises(TransportError, match="broke"):
            await response.piece()


@pytest.mark.parametrize(("extra", "is_refused"), [(-200, False), (1, True)])
async def test_headers_have_a_limit(extra, is_refused):
    async def talk(_number, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        written = 17
        while written < connections.MAX_HEAD + extra:
            line = b"x-%d: %b\r\n" % (written, b"a" * 80)
            writer.write(line[: connections.MAX_HEAD + extra - written])
            written += len(line)
        if not is_refused:
            writer.write(b"\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        return True

    async with talking(talk) as server, client_of() as client:
        if is_refused:
            refused = (FailureKind.BAD_RESPONSE, "The headers of the answer are too long.")
            assert await failure_of(client, server.url) == refused
        else:
            assert await ask(client, server.url) == (200, b"ok")


@pytest.mark.parametrize(("limit", "is_refused"), [(2, False), (1, True)])
async def test_an_answer_that_is_read_whole_has_a_limit(limit, is_refused):
    async with talking(saying(OK)) as server, client_of(max_answer=limit) as client:
        if is_refused:
            kind, message = await failure_of(client, server.url)
            assert (kind, message) == (FailureKind.BAD_RESPONSE, "The answer has more than 1 bytes.")
        else:
            assert await ask(client, server.url) == (200, b"ok")


async def test_a_server_has_to_wait_while_nobody_takes_what_it_sent():
    piece, stuck = b"x" * 65_536, asyncio.Event()

    async def talk(_number, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (1000 * len(piece)))
        for _ in range(1000):
            writer.write(piece)
            try:
                await asyncio.wait_for(asyncio.shield(writer.drain()), 0.2)
            except TimeoutError:
                stuck.set()
                await writer.drain()
        return True

    async with talking(talk) as server, client_of(timeouts=Timeouts(total=0.1)) as client:
        response = await client.send(HttpRequest(url=server.url))
        await stuck.wait()  # longer than the silence that is borne, but it is not the server's
        assert len(await response.read()) == 1000 * len(piece)


async def test_whoever_gives_up_before_the_answer_hangs_up():
    asked = asyncio.Event()

    async def talk(_number, _writer):
        asked.set()
        return True

    async with talking(talk) as server, client_of() as client:
        task = asyncio.create_task(ask(client, server.url))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.hung_up.wait()


async def test_whoever_leaves_in_the_middle_of_a_stream_hangs_up():
    endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n"
    async with talking(saying(endless)) as server, client_of() as client:
        response = await client.send(HttpRequest(url=server.url))
        assert await response.piece() == b"first"
        await response.close()
        await server.hung_up.wait()
        assert await response.piece() == b""


def test_one_transport_serves_one_event_loop_after_the_other():
    clients = [SocketTransport()]

    async def talk(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)

    async def once(listener):
        async with await asyncio.start_server(talk, sock=listener):
            return await ask(clients[0], f"http://127.0.0.1:{port}")

    with socket.create_server(("127.0.0.1", 0)) as listener, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the loops end without closing their connections
        port = listener.getsockname()[1]
        assert [asyncio.run(once(listener.dup())) for _ in range(2)] == [(200, b"ok")] * 2
        clients.clear()
        gc.collect()


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("/v1/m:x?alt=sse&a=%20b", "POST /v1/m:x?alt=sse&a=%20b HTTP/1.1"),
        ("", "POST / HTTP/1.1"),
        ("/modèle mine", "POST /mod%C3%A8le%20mine HTTP/1.1"),
    ],
)
async def test_the_request_line_says_the_path(url, line):
    async with talking(saying(OK)) as server, client_of() as client:
        await ask(client, server.url + url)
        assert server.heads[0].split("\r\n")[0] == line


async def test_a_request_says_what_it_must_and_nothing_else():
    async with talking(saying(OK)) as server, client_of() as client:
        await ask(client, server.url, headers={"x-key": "k"}, body=b"{}")
    assert server.heads[0].split("\r\n")[1:-2] == [
        f"host: 127.0.0.1:{server.port}",
        "accept-encoding: identity",
        "x-key: k",
        "content-length: 2",
    ]


async def test_a_name_and_a_password_in_the_address_are_credentials():
    async with talking(saying(OK)) as server, client_of() as client:
        await ask(client, server.url.replace("//", "//me:p%40ss@"))
    assert "authorization: Basic bWU6cEBzcw==" in server.heads[0]  # me:p@ss


@pytest.mark.parametrize(
    "headers", [{"x": "a\r\ny: b"}, {"x": "a\nb"}, {"x\r\n": "a"}, {"": "a"}, {"x y": "a"}, {"x": "a\x00"}, {"x": "日"}]
)
async def test_a_header_that_would_be_more_than_one_is_refused(headers):
    async with client_of() as client:
        kind, message = await failure_of(client, "http://127.0.0.1:9/", headers=headers)
    assert (kind, message) == (FailureKind.INVALID_REQUEST, "The address or a header is not valid.")


@pytest.mark.parametrize(
    "url",
    ["", "/v1", "ftp://a/", "http://", "http://a:x/", "http://a:99999/", "http://a:0/", "http://a b/", "http://[::/"],
)
async def test_an_address_that_is_none_is_refused(url):
    async with client_of() as client:
        kind, message = await failure_of(client, url)
    assert (kind, message) == (FailureKind.INVALID_REQUEST, "The address or a header is not valid.")


def made_certificates(folder):
    """A CA of our own and a server's certificate for 127.0.0.1."""
    now, keys = datetime.now(UTC), [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("our CA", "127.0.0.1")]

    def builder(subject, key):
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(names[0]).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number())
        return made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))

    def signed(made):
        return made.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    ca = signed(
        builder(names[0], keys[0]).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    address = x509.IPAddress(ip_address("127.0.0.1"))
    own = signed(builder(names[1], keys[1]).add_extension(x509.SubjectAlternativeName([address]), critical=False))
    private = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "ca.pem").write_bytes(ca)
    (folder / "server.pem").write_bytes(own + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return str(folder / "ca.pem"), context


async def test_a_server_whose_certificate_is_of_the_ca_file_is_trusted(tmp_path):
    ca_file, context = made_certificates(tmp_path)
    async with (
        talking(saying(OK), ssl=context, ssl_shutdown_timeout=0.1) as server,
        client_of(ca_file=ca_file) as client,
    ):
        url = f"https://127.0.0.1:{server.port}/"
        assert [await ask(client, url) for _ in range(2)] == [(200, b"ok")] * 2
        assert server.connections == 1


async def test_a_server_of_a_ca_that_nobody_knows_is_not_trusted(tmp_path):
    _, context = made_certificates(tmp_path)
    async with talking(saying(OK), ssl=context, ssl_shutdown_timeout=0.1) as server, client_of() as client:
        place = f"127.0.0.1:{server.port}"
        kind, message = await failure_of(client, f"https://{place}/")
    assert (kind, message) == (FailureKind.OVERLOADED, f"The certificate of {place} is not trusted.")
    assert server.heads == []


async def test_a_server_that_speaks_no_tls_cannot_be_reached_by_it():
    async def greet(_reader, writer):
        writer.write(b"220 smtp.example ESMTP\r\n")

    async with listening(greet) as port, client_of() as client:
        place = f"127.0.0.1:{port}"
        kind, message = await failure_of(client, f"https://{place}/")
    assert (kind, message) == (FailureKind.OVERLOADED, f"No connection to {place} could be made.")


async def test_a_ca_file_without_a_certificate_is_a_named_error(tmp_path):
    (tmp_path / "empty.pem").write_text("nothing")
    async with client_of(ca_file=str(tmp_path / "empty.pem")) as client:
        with pytest.raises(ConfigError, match=r"empty\.pem holds no certificate"):
            await ask(client, "https://127.0.0.1:9/")


@contextlib.asynccontextmanager
async def proxying(answer=b"HTTP/1.1 200 Connection established\r\n\r\n"):
    """A proxy that leads on to wherever it is asked for; `heads` are the requests for that."""
    heads = []

    async def pump(reader, writer):
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def lead_on(reader, writer):
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        if b" 200 " not in answer:
            return
        host, _, port = heads[-1].split()[1].rpartition(":")
        further, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, back), pump(further, writer))

    async with listening(lead_on) as port:
        yield f"127.0.0.1:{port}", heads


async def test_a_proxy_leads_on_to_a_server_with_tls_and_sees_nothing_of_the_request(tmp_path):
    ca_file, context = made_certificates(tmp_path)
    async with (
        talking(saying(OK), ssl=context, ssl_shutdown_timeout=0.1) as server,
        proxying() as (place, heads),
        client_of(proxy=f"http://me:secret@{place}", ca_file=ca_file) as client,
    ):
        assert await ask(client, f"https://127.0.0.1:{server.port}/v1") == (200, b"ok")
    target = f"127.0.0.1:{server.port}"
    credentials = "proxy-authorization: Basic bWU6c2VjcmV0"
    assert heads == [f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{credentials}\r\n\r\n"]
    assert server.heads[0].startswith("POST /v1 HTTP/1.1\r\n")
    assert "proxy-authorization" not in server.heads[0]


async def test_a_proxy_that_refuses_is_told():
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
    async with proxying(refusal) as (place, _), client_of(proxy=f"http://{place}") as client:
        kind, message = await failure_of(client, "https://models.example/v1")
    assert (kind, message) == (
        FailureKind.OVERLOADED,
        "No connection to models.example:443 could be made through the proxy.",
    )


@pytest.mark.parametrize(("exempt", "target"), [("", "http://127.0.0.1:9/x"), ("127.0.0.1", "/x")])
async def test_the_proxy_of_the_environment_is_used_except_where_the_environment_says_not(monkeypatch, exempt, target):
    async with talking(saying(OK)) as server, client_of() as client:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.setenv("no_proxy", exempt)
        url = f"{server.url}/x" if exempt else "http://127.0.0.1:9/x"
        assert await ask(client, url) == (200, b"ok")
    assert server.heads[0].split()[1] == target


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "http://", "http://a:x"])
async def test_a_proxy_that_we_cannot_speak_to_is_a_configuration_error(proxy):
    async with client_of(proxy=proxy) as client:
        with pytest.raises(ConfigError, match="address of the proxy is not valid"):
            await ask(client, "http://127.0.0.1:9/")
