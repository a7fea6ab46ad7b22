"""A number on the server that is known without asking, for as long as that can be trusted."""

import asyncio

import asyncpg
import pytest

from groundwire.store.postgres_watch import WatchedNumber

QUERY = "SELECT number FROM numbers"
LONG = 3600.0


class Place:
    """A number on a server, who connects to it, and how often that was."""

    def __init__(self, url, connection):
        self.url = url
        self.connection = connection
        self.opened = []

    async def connect(self):
        self.opened.append(await asyncpg.connect(self.url))
        return self.opened[-1]

    async def put(self, number, *, tell):
        await self.connection.execute("UPDATE numbers SET number = $1", number)
        if tell:
            await self.connection.execute(f"NOTIFY {tell}")

    async def cut_off(self, listener):
        await self.connection.execute("SELECT pg_terminate_backend($1)", listener.get_server_pid())


@pytest.fixture
async def place(postgres_url):
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("CREATE TABLE numbers (number BIGINT); INSERT INTO numbers VALUES (1)")
    found = Place(postgres_url, connection)
    yield found
    await connection.close()
    for opened in found.opened:
        await opened.close()


async def reads(watched, number):
    """Return when this is what is read; the notification may still be on its way."""
    async with asyncio.timeout(10):
        while await watched.read() != number:  # noqa: ASYNC110 - the server tells of it when the loop next listens
            await asyncio.sleep(0)


async def test_the_number_is_known_until_somebody_tells_of_a_change(place):
    watched = WatchedNumber(place.connect, QUERY, channel="told", believed_seconds=LONG)
    assert await watched.read() == 1
    await place.put(2, tell=None)
    assert await watched.read() == 1
    await place.put(3, tell="told")
    await reads(watched, 3)
    assert len(place.opened) == 1


async def test_the_number_is_asked_for_again_when_its_time_is_over_though_nobody_told(place):
    watched = WatchedNumber(place.connect, QUERY, channel="untold", believed_seconds=0.0)
    assert await watched.read() == 1
    await place.put(2, tell=None)
    assert await watched.read() == 2


async def test_the_number_is_asked_for_again_when_this_process_forgets_it(place):
    watched = WatchedNumber(place.connect, QUERY, channel="told", believed_seconds=LONG)
    assert await watched.read() == 1
    await place.put(2, tell=None)
    watched.forget()
    assert await watched.read() == 2


async def test_a_lost_connection_is_not_trusted_and_another_one_is_made(place):
    watched = WatchedNumber(place.connect, QUERY, channel="told", believed_seconds=LONG)
    assert await watched.read() == 1
    await place.put(2, tell=None)
    await place.cut_off(place.opened[0])
    await reads(watched, 2)
    await place.put(3, tell="told")
    await reads(watched, 3)
    assert len(place.opened) == 2


async def test_a_failed_question_is_asked_on_a_connection_of_its_own_next_time(place):
    watched = WatchedNumber(place.connect, QUERY, channel="told", believed_seconds=LONG)
    await place.connection.execute("ALTER TABLE numbers RENAME TO others")
    with pytest.raises(asyncpg.PostgresError):
        await watched.read()
    await place.connection.execute("ALTER TABLE others RENAME TO numbers")
    assert await watched.read() == 1
    assert len(place.opened) == 2


async def test_many_who_ask_at_once_ask_once(place):
    watched = WatchedNumber(place.connect, QUERY, channel="told", believed_seconds=LONG)
    assert await asyncio.gather(*(watched.read() for _ in range(20))) == [1] * 20
    assert len(place.opened) == 1
