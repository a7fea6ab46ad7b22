"""The transport against a real server on a real socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import HttpRequest, Timeouts, TransportError
from groundwire.simulator.http import HttpServer, Response


async def pieces(*chunks: bytes | None) -> AsyncIterator[bytes | None]:
    for chunk in chunks:
        yield chunk


async def pieces_of(response) -> list[bytes]:
    found = []
    while piece := await response.piece():
        found.append(piece)
    return found


async def nothing() -> AsyncIterator[bytes | None]:
    await asyncio.Event().wait()
    yield b""


@contextlib.asynccontextmanager
async def serving(make):
    seen = []

    async def handle(request):
        seen.append(request)
        return make(request)

    server = HttpServer(handle)
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}", seen
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def transport(**options):
    made = SocketTransport(**options)
    try:
        yield made
    finally:
        await made.close()


async def test_a_request_arrives_as_it_was_sent_and_the_answer_comes_back_whole():
    def answer(request):
        return Response(status=201, headers={"X-Request-Id": "r1"}, chunks=pieces(b"one", b"two"))

    async with serving(answer) as (url, seen), transport() as client:
        response = await client.send(HttpRequest(url=f"{url}/v1/x?alt=sse", headers={"x-key": "k"}, body=b"{}"))
        assert (response.status, response.headers["x-request-id"]) == (201, "r1")
        assert await response.read() == b"onetwo"
    assert (seen[0].method, seen[0].target, seen[0].headers["x-key"], seen[0].body) == (
        "POST",
        "/v1/x?alt=sse",
        "k",
        b"{}",
    )


async def test_all_pieces_of_an_answer_come():
    async with serving(lambda request: Response(chunks=pieces(b"a", b"b"))) as (url, _), transport() as client:
        response = await client.send(HttpRequest(url=url))
        assert b"".join(await pieces_of(response)) == b"ab"


async def test_a_redirect_is_an_answer_and_is_not_followed():
    headers = {"location": "http://127.0.0.1:1/"}
    async with (
        serving(lambda request: Response(status=302, headers=headers, chunks=pieces())) as (url, _),
        transport() as client,
    ):
        response = await client.send(HttpRequest(url=url))
        assert response.status == 302
        await response.read()


async def read_whole(client, url):
    return await (await client.send(HttpRequest(url=url))).read()


async def read_pieces(client, url):
    return await pieces_of(await client.send(HttpRequest(url=url)))


@pytest.mark.parametrize("read", [read_whole, read_pieces])
async def test_a_connection_that_breaks_is_a_bad_response(read):
    async with serving(lambda request: Response(chunks=pieces(b"abc", None))) as (url, _), transport() as client:
        with pytest.raises(TransportError) as caught:
            await read(client, url)
    assert caught.value.kind == FailureKind.BAD_RESPONSE


@pytest.mark.parametrize("limit", [{"timeouts": Timeouts(read=0.05)}, {"timeouts": Timeouts(total=0, read=0.05)}])
async def test_silence_past_the_limit_is_a_timeout(limit):
    async with serving(lambda request: Response(chunks=nothing())) as (url, _), transport(**limit) as client:
        with pytest.raises(TransportError) as caught:
            await (await client.send(HttpRequest(url=url))).read()
    assert caught.value.kind == FailureKind.TIMEOUT


async def test_a_whole_answer_past_its_own_limit_is_a_timeout():
    async with serving(lambda request: Response(chunks=nothing())) as (url, _), transport() as client:
        with pytest.raises(TransportError) as caught:
            await (await client.send(HttpRequest(url=url, timeout=0.05))).read()
    assert caught.value.kind == FailureKind.TIMEOUT


async def test_a_request_with_more_time_than_usual_may_be_silent_for_longer():
    """The usual request says how long has passed: it gives up after the one that may wait was already waiting."""
    asked, release = asyncio.Event(), asyncio.Event()

    async def when_released():
        asked.set()
        await release.wait()
        yield b"done"

    async with (
        serving(lambda request: Response(chunks=when_released())) as (url, _),
        transport(timeouts=Timeouts(total=0.05)) as client,
        asyncio.timeout(20),
    ):

        async def read(limit):
            return await (await client.send(HttpRequest(url=url, timeout=limit))).read()

        patient = asyncio.ensure_future(read(20))
        await asked.wait()
        with pytest.raises(TransportError):
            await read(0)
        assert not patient.done()
        release.set()
        assert await patient == b"done"


async def test_a_limit_of_silence_that_was_set_holds_whatever_the_request_may_take():
    times = Timeouts(total=0.01, read=0.02)
    async with serving(lambda request: Response(chunks=nothing())) as (url, _), transport(timeouts=times) as client:
        with pytest.raises(TransportError) as caught:
            await (await client.send(HttpRequest(url=url, timeout=20))).read()
    assert caught.value.kind == FailureKind.TIMEOUT


@pytest.mark.parametrize(
    ("url", "proxy", "message"),
    [
        ("http://127.0.0.1:9/", "", "127.0.0.1:9 refuses connections."),
        ("https://user:sk-secret@127.0.0.1:9/v1?key=sk-secret#x", "", "127.0.0.1:9 refuses connections."),
        ("http://nobody.invalid/v1", "", "The host nobody.invalid is not known."),
        (
            "https://models.example/v1",
            "http://127.0.0.1:9",
            "No connection to models.example:443 could be made through the proxy.",
        ),
    ],
)
async def test_a_server_that_cannot_be_reached_is_named_by_host_and_port_alone(url, proxy, message):
    async with transport(proxy=proxy) as client:
        with pytest.raises(TransportError) as caught:
            await client.send(HttpRequest(url=url))
    assert (caught.value.kind, caught.value.message) == (FailureKind.OVERLOADED, message)


async def test_a_server_that_hangs_up_without_an_answer_was_reached():
    async def hang_up(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server, transport() as client:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransportError) as caught:
            await client.send(HttpRequest(url=f"http://127.0.0.1:{port}/"))
    assert (caught.value.kind, caught.value.message) == (
        FailureKind.BAD_RESPONSE,
        "The connection broke before the answer was complete.",
    )


async def test_a_server_that_stays_silent_is_late():
    async def stay_silent(request):
        await asyncio.Event().wait()

    server = HttpServer(stay_silent)
    port = await server.start("127.0.0.1", 0)
    async with transport(timeouts=Timeouts(total=0.05)) as client:
        with pytest.raises(TransportError) as caught:
            await client.send(HttpRequest(url=f"http://127.0.0.1:{port}/"))
    await server.close()
    assert (caught.value.kind, caught.value.message) == (FailureKind.TIMEOUT, "The answer did not come in time.")


async def test_a_bad_address_is_a_bad_request():
    async with transport() as client:
        with pytest.raises(TransportError) as caught:
            await client.send(HttpRequest(url="not an address"))
        assert caught.value.kind == FailureKind.INVALID_REQUEST


async def test_what_goes_wrong_never_tells_the_address_or_the_key():
    async with transport() as client:
        with pytest.raises(TransportError) as caught:
            await client.send(HttpRequest(url="http://127.0.0.1:9/?key=sk-secret", headers={"x-key": "sk-secret"}))
    assert "sk-secret" not in str(caught.value)


async def test_a_cancelled_request_leaves_the_client_usable():
    started = asyncio.Event()

    def answer(request):
        if request.target == "/slow":
            started.set()
            return Response(chunks=nothing())
        return Response(chunks=pieces(b"ok"))

    async with serving(answer) as (url, _), transport() as client:

        async def ask():
            return await (await client.send(HttpRequest(url=f"{url}/slow"))).read()

        task = asyncio.create_task(ask())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await (await client.send(HttpRequest(url=url))).read() == b"ok"


async def test_a_proxy_gets_the_request_instead_of_the_server():
    async with (
        serving(lambda request: Response(chunks=pieces(b"by proxy"))) as (url, seen),
        transport(proxy=url) as client,
    ):
        response = await client.send(HttpRequest(url="http://models.example/v1/x"))
        assert await response.read() == b"by proxy"
    assert seen[0].target == "http://models.example/v1/x"


async def test_a_ca_file_that_is_not_there_is_a_named_error(tmp_path):
    async with transport(ca_file=str(tmp_path / "no.pem")) as client:
        with pytest.raises(ConfigError, match=r"no\.pem cannot be read"):
            await client.send(HttpRequest(url="https://127.0.0.1:9/"))


async def test_an_address_of_a_proxy_that_is_none_is_a_configuration_error():
    with pytest.raises(ConfigError):
        await SocketTransport(proxy="nonsense::").send(HttpRequest(url="http://127.0.0.1:9/"))


async def test_a_piece_is_there_when_the_server_has_sent_it():
    """The server sends the second piece only after the client had the first: otherwise neither would ever come."""
    heard = asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await writer.drain()
        await heard.wait()
        writer.write(b"6\r\nsecond\r\n0\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    transport = SocketTransport(Timeouts(read=5.0))
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        response = await transport.send(HttpRequest(url=f"http://127.0.0.1:{port}/", body=b"{}"))
        pieces = []
        while piece := await response.piece():
            pieces.append(piece)
            heard.set()
        await response.close()
    await transport.close()
    assert pieces == [b"first", b"second"]
