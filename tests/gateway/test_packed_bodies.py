"""Compressed request bodies: large ones are unpacked beside the event loop, and extreme ratios are refused."""

import asyncio
import gzip
import json
import random
import sys
import time
import zlib

import httpx2 as httpx
import pytest
import zstandard

from groundwire.contracts.servers import ServerSettings
from tests.gateway.test_signals import project, served
from tests.gateway.test_silent_connections import HealthCheck

__all__ = ["project"]

LIMIT = 60
PATHS = {
    "/v1/chat/completions": lambda error: error["code"],
    "/v1/responses": lambda error: error["code"],
    "/v1/messages": lambda error: error["type"],
    "/v1beta/models/gpt-5.2:generateContent": lambda error: error["details"][0]["reason"],
}
PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
CHAT = {"messages": [{"role": "user", "content": "hi"}]}


def large_body(size):
    """Text that packs to a fiftieth or so, as repetitive JSON may, and is no JSON, so that only unpacking takes time."""
    source = random.Random(7)
    pieces = (source.randbytes(300).hex().encode() + b"x" * 31_400 for _ in range(size // 32_000))
    return b"not JSON" + b"".join(pieces)


def padded_chat(model, size):
    """A request of exactly so many bytes that packs very well."""
    body = json.dumps({"model": model, **CHAT, "user": "?"}).encode()
    return body.replace(b"?", b"a" * (size - len(body) + 1))


async def test_twelve_large_bodies_at_once_do_not_hold_up_health_checks(project, capsys):
    body = large_body(60_000_000)
    packed = gzip.compress(body, 6)
    assert len(body) / len(packed) < 100
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    async with served(project) as (client, _), HealthCheck(client) as health:
        began = time.monotonic()
        posts = [client.post("/v1/chat/completions", content=packed, headers=headers) for _ in range(12)]
        statuses = [answer.status_code for answer in await asyncio.gather(*posts)]
        taken = time.monotonic() - began
    with capsys.disabled():
        sys.stdout.write(
            f"\ntwelve bodies: {taken:.2f} s; slowest of {health.count} health checks: {health.slowest:.2f} s\n"
        )
    assert statuses == [400] * 12
    assert health.slowest < taken / 4


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_whose_ratio_is_extreme_is_refused_with_its_own_code(gateway, path, encoding):
    packed = PACKERS[encoding](bytes(20_000_000))
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client:
        answer = await client.post(path, content=packed, headers={"content-encoding": encoding})
    assert answer.status_code == 413
    if path != "/v1/messages":  # which has one type for all that is too large
        assert PATHS[path](answer.json()["error"]) == "compression_ratio_too_high"


@pytest.mark.parametrize(("ratio", "status"), [(1200, 200), (100, 413)])
async def test_the_ratio_that_is_allowed_is_a_setting(gateway, ratio, status):
    server = ServerSettings(max_compression_ratio=ratio)
    async with (
        gateway("Hello.", server=server) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        packed = gzip.compress(padded_chat(running.model, 2_000_000))
        answer = await client.post("/v1/chat/completions", content=packed, headers={"content-encoding": "gzip"})
    assert answer.status_code == status


@pytest.mark.parametrize("size", [1_000, 300_000, 1_048_576])
@pytest.mark.parametrize("encoding", PACKERS)
async def test_a_body_of_up_to_a_mebibyte_may_have_any_ratio(gateway, encoding, size):
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client:
        packed = PACKERS[encoding](padded_chat(running.model, size))
        answer = await client.post("/v1/chat/completions", content=packed, headers={"content-encoding": encoding})
    assert answer.status_code == 200


@pytest.mark.parametrize(("excess", "status"), [(0, 200), (1, 413)])
async def test_a_large_body_is_unpacked_up_to_the_last_byte_that_max_body_allows(gateway, excess, status):
    server = ServerSettings(max_body=3_000_000, max_compression_ratio=10_000)
    async with (
        gateway("Hello.", server=server) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        packed = gzip.compress(padded_chat(running.model, 3_000_000 + excess))
        answer = await client.post("/v1/chat/completions", content=packed, headers={"content-encoding": "gzip"})
    assert answer.status_code == status
