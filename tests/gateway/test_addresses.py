"""Addresses in requests: the gateway passes them on and goes to none of them, least of all to this machine's own."""

import asyncio
import contextlib

import httpx2 as httpx
import pytest

from tests.gateway.conftest import UPSTREAMS

PNG = "image/png"


class Private:
    """A server on this machine that nobody should ask. `asked` counts who did."""

    def __init__(self):
        self.asked = 0

    async def serve(self, reader, writer):
        self.asked += 1
        writer.close()


@contextlib.asynccontextmanager
async def private_server():
    private = Private()
    server = await asyncio.start_server(private.serve, "127.0.0.1", 0)
    private.host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield private


def requests_with(url, model):
    """The same picture by its address, as each dialect says it."""
    image = {"type": "image_url", "image_url": {"url": url}}
    file = {"fileData": {"fileUri": url, "mimeType": PNG}}
    return {
        "/v1/chat/completions": {"model": model, "messages": [{"role": "user", "content": [image]}]},
        "/v1/responses": {
            "model": model,
            "input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}],
        },
        "/v1/messages": {
            "model": model,
            "max_tokens": 100,
            "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": url}}]}],
        },
        f"/v1beta/models/{model}:generateContent": {"contents": [{"role": "user", "parts": [file]}]},
        f"/relay/desk/v1beta/models/{model}:generateContent": {"contents": [{"role": "user", "parts": [file]}]},
    }


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_the_address_of_a_picture_is_never_visited(gateway, upstream):
    async with (
        private_server() as private,
        gateway("A cat.", upstream=upstream) as running,
        httpx.AsyncClient(base_url=running.url, timeout=30) as client,
    ):
        asked = requests_with(f"http://{private.host}/cat.png", running.model)
        answers = [await client.post(path, json=body) for path, body in asked.items()]
        assert [answer.status_code for answer in answers] == [200] * len(asked)
        assert len(running.upstream.requests) == len(asked)
    assert private.asked == 0


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("name", ["@{}/m", "{}/m", "..//{}/m", "http://{}/m", "m?x=@{}", "m#@{}", "%2f%2f{}/m"])
async def test_the_name_of_a_model_leads_to_no_other_server(gateway, upstream, name):
    async with (
        private_server() as private,
        gateway("Hello.", upstream=upstream) as running,
        httpx.AsyncClient(base_url=running.url, timeout=30) as client,
    ):
        model = f"{running.model.partition('/')[0]}/{name.format(private.host)}"
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
        answer = await client.post("/v1/chat/completions", json=body)
        assert answer.status_code in (200, 400, 404)
    assert private.asked == 0
