"""`groundwire app supplier`: a brain as a process of its own, and signals as an operator sees them."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire.apps.supplier.signals.events import encode_event, webhook_id_of
from groundwire.apps.supplier.signals.tables import SignalTables
from groundwire.serving import WebhookKey, sign_webhook
from groundwire.store import open_url
from tests.apps.supplier.signals.samples import KEY, NEW_KEY
from tests.apps.supplier.signals.samples import signal as sample

LIMIT = 60


@contextlib.asynccontextmanager
async def brain(*options, environ=None):
    """The process, what it says first, and a client of it."""
    command = [sys.executable, "-m", "groundwire", "app", "supplier", "brain", "--port", "0", *options]
    pipe = asyncio.subprocess.PIPE
    async with asyncio.timeout(LIMIT):
        process = await asyncio.create_subprocess_exec(
            *command, stderr=pipe, start_new_session=True, env={**os.environ, **(environ or {})}
        )
        try:
            said = [(await process.stderr.readline()).decode()]
            if "takes signals at" not in said[-1]:
                said.append((await process.stderr.readline()).decode())
            url = said[-1].split()[-1].removesuffix("/signals")
            async with httpx.AsyncClient(base_url=url, timeout=LIMIT) as client:
                await answering(client)
                yield process, said, client
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()


async def answering(client):
    while True:
        with contextlib.suppress(httpx.TransportError):
            return await client.get("/openapi.json")
        await asyncio.sleep(0.02)


async def send(client, sent, key=KEY):
    body = encode_event(sent, now=time.time())
    headers = sign_webhook([WebhookKey(key)], webhook_id_of(sent.signal_id), int(time.time()), body)
    return (await client.post("/signals", content=body, headers=headers)).status_code


async def received(client):
    items = (await client.get("/api/signals")).json()["items"]
    return [(item["signalId"], item["deliveries"]) for item in items]


@pytest.fixture
def keys_file(empty):
    Path("keys.txt").write_text(f"{KEY}\n\n{NEW_KEY}\n")


async def test_a_reload_of_a_brain_restarts_its_worker_and_says_that_nothing_was_read_again(keys_file):
    async with brain("--secret-file", "keys.txt", "--store", "sqlite:///brain.db") as (process, _, client):
        process.send_signal(signal.SIGHUP)
        assert (await process.stderr.readline()).startswith(b"Restarted 1 worker.")
        assert (await answering(client)).status_code == 200


@pytest.mark.requirement("OQ-02", "A-152")
async def test_a_brain_that_was_killed_still_has_what_it_took_and_takes_it_no_second_time(keys_file):
    options = ("--secret-file", "keys.txt", "--store", "sqlite:///brain.db")
    async with brain(*options) as (_, _, client):
        assert [await send(client, sample(1)), await send(client, sample(2), NEW_KEY)] == [200, 200]
    async with brain(*options) as (_, _, client):
        assert await send(client, sample(1)) == 200
        assert sorted(await received(client)) == [("sig_1", 2), ("sig_2", 1)]


async def test_without_a_key_it_makes_one_and_says_it(empty):
    async with brain("--store", "memory://") as (_, said, client):
        key = said[0].split()[-1]
        assert said[0].startswith("No key was given")
        assert [await send(client, sample(), KEY), await send(client, sample(), key)] == [401, 200]


async def test_a_key_may_stand_in_the_environment(empty):
    environ = {"GROUNDWIRE_BRAIN_SECRET": f"{KEY} {NEW_KEY}"}
    async with brain("--store", "memory://", environ=environ) as (_, said, client):
        assert len(said) == 1
        assert [await send(client, sample(1), KEY), await send(client, sample(2), NEW_KEY)] == [200, 200]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--secret", "whsec_short"], "error[config_error]: A webhook's key"),
        (["--secret-file", "none.txt"], "error[config_error]: The file of keys none.txt cannot be read"),
        (["--secret-file", "empty.txt"], "error[config_error]: The file of keys empty.txt holds none"),
        (["--secret", KEY, "--host", "0.0.0.0"], "error[config_error]: Without a key, everybody who reaches"),
        (["--secret", KEY, "--host", "nobody.invalid"], "error[config_error]: The host"),
    ],
)
def test_what_it_cannot_start_with_is_one_clear_line(empty, run, options, error):
    Path("empty.txt").write_text("\n")
    result = run("app", "supplier", "brain", "--store", "memory://", "--port", "0", *options)
    assert result.exit_code == 1
    assert result.stderr.startswith(error)
    assert "short" not in result.stderr


def test_who_has_no_file_of_keys_is_told_how_to_make_one(empty, run):
    result = run("app", "supplier", "brain", "--secret-file", "keys.txt")
    assert "groundwire app supplier brain --new-key > keys.txt" in result.stderr


@pytest.fixture
def made_key(empty, run):
    made = run("app", "supplier", "brain", "--new-key")
    assert (made.exit_code, made.stderr) == (0, "")
    Path("keys.txt").write_text(made.stdout)
    return made.stdout.strip()


async def test_a_key_that_it_makes_is_one_that_it_takes(made_key):
    async with brain("--secret-file", "keys.txt", "--store", "memory://") as (_, _, client):
        assert await send(client, sample(), made_key) == 200


def test_a_brain_that_cannot_listen_makes_no_key(empty, run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("app", "supplier", "brain", "--store", "memory://", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 1
    assert result.stderr.startswith("error[config_error]: Port")


@pytest.fixture
def kept(empty):
    """A store with two signals, one of them dead, and an address that wants no more."""

    async def fill():
        store = open_url("sqlite:///groundwire.db")
        await store.open()
        tables = SignalTables(store.database)
        await tables.open()
        for number in (1, 2):
            await tables.add("default", sample(number), b"{}", 1_700_000_000_000 + number)
        await tables.note_attempt("default", "sig_1", "dead", status=410, error="endpoint_gone", delivered=0)
        await tables.disable("default", "https://ops.example/signals", 1_700_000_000_000)
        await store.shut()

    asyncio.run(fill())


def test_signals_are_listed_with_what_became_of_them(kept, run):
    listed = json.loads(run("app", "supplier", "signals", "list", "--json").stdout)
    assert [(one["signalId"], one["state"], one["error"]) for one in listed] == [
        ("sig_2", "queued", ""),
        ("sig_1", "dead", "endpoint_gone"),
    ]
    assert listed[0]["signal"]["supplierQuote"] == "50个开不了机，印不了的"
    narrowed = run("app", "supplier", "signals", "list", "--state", "dead").stdout.splitlines()
    assert [line.split()[0] for line in narrowed] == ["ID", "sig_1"]


def test_an_address_that_wanted_no_more_can_be_enabled_again(kept, run):
    url = "https://ops.example/signals"
    disabled = json.loads(run("app", "supplier", "signals", "disabled", "--json").stdout)
    assert disabled == [{"url": url, "disabledAt": "2023-11-14T22:13:20.000Z"}]
    assert run("app", "supplier", "signals", "enable", url).exit_code == 0
    again = run("app", "supplier", "signals", "enable", url)
    assert (again.exit_code, again.stderr.startswith("error[not_found]")) == (1, True)
    assert run("app", "supplier", "signals", "disabled").stdout == "No address is disabled.\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--brain", "notaurl", "--secret", KEY), "Webhooks cannot be sent to 'notaurl'."),
        (("--brain", "https://a/b", "--secret", KEY, "--allow-network", "zzz"), "'zzz' is no network."),
        (("--allow-network", "127.0.0.0/8"), "name it with --brain"),
        (("--brain", "http://127.0.0.1:8743/signals", "--secret", KEY), "--allow-network"),
        (("--brain", "https://localhost/signals", "--secret", KEY), "localhost is at an address that is not public"),
        (("--brain", "http://ops.example/signals", "--secret", KEY), "only reached by https"),
        (("--signal-log", "taken/signals.jsonl"), "Signals cannot be written to taken/signals.jsonl"),
        (("--brain", "https://a/b", "--secret", KEY, "--signal-log", "x"), "give --brain or --signal-log"),
        (("--bot", "openai/gpt-5.5"), "OPENAI_API_KEY"),
        (("--silence-hours", "nan"), "--silence-hours"),
        (("--secret", KEY), "name it with --brain"),
        (("--bot", "rules", "--summary", "gone/model"), "Rules play both roles or none"),
    ],
)
def test_a_service_that_could_not_do_its_work_does_not_start(empty, run, options, message):
    Path("taken").touch()
    result = run("app", "supplier", "serve", "--port", "0", *options)
    assert result.exit_code != 0
    assert message in result.stderr
