"""The simulator's own server."""

import asyncio
import contextlib
import socket

import pytest

from groundwire.simulator.http import HttpServer


@pytest.mark.parametrize("rounds", range(6))
async def test_a_server_that_closes_hangs_up_on_those_too_who_have_only_just_come(rounds):
    async def never(_request):
        await asyncio.Event().wait()

    server = HttpServer(never)
    port = await server.start("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(rounds):  # of the event loop: until it is seen, accepted, spoken with
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await server.close()
            client.setblocking(False)
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
