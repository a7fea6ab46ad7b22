"""Another process on the same store, for the tests to start: `python -m tests.conformance.child COMMAND URL NAME`."""

import asyncio
import itertools
import os
import signal
import sys
from collections import Counter

from groundwire.contracts.keys import KeyLimit
from groundwire.contracts.ports import Store
from groundwire.contracts.records import Charge, Reserved
from groundwire.store import open_url
from tests.conformance.builders import (
    answer_of,
    api_key,
    closing,
    effect,
    ending,
    request_of,
    reservation,
    run,
    run_entries,
)


async def reserve(store: Store, name: str) -> None:
    """Fight for one key, 250 times at once."""
    wanted = (store.reserve(reservation(name=f"{name}_{number}")) for number in range(250))
    print(Counter(type(outcome).__name__ for outcome in await asyncio.gather(*wanted))["Reserved"])


async def charge(store: Store, name: str) -> None:
    """Charge one counter, 50 times at once."""
    limit = (Charge(name="spend", scope="day", max=70.0),)
    wanted = (store.reserve(reservation(f"{name}_{number}", charges=limit)) for number in range(50))
    print(Counter(type(outcome).__name__ for outcome in await asyncio.gather(*wanted))["Reserved"])


LIMITED = api_key(limits=(KeyLimit("requests", 70, "hour"), KeyLimit("requests", 1000, "day")))


async def spend(store: Store, name: str) -> None:
    """Use one key, 50 times at once; how often that was allowed."""
    outcomes = await asyncio.gather(*(store.spend(request_of(LIMITED, 1.0)) for _ in range(50)))
    print(outcomes.count(None))


async def charge_key(store: Store, name: str) -> None:
    """Charge many keys in an order of one's own, 100 answers at once."""
    keys = [api_key(str(number), limits=(KeyLimit("money", 1, "month"),)) for number in range(10)]
    wanted = (key for _ in range(10) for key in (keys if name.endswith("0") else reversed(keys)))
    await asyncio.gather(*(store.spend(answer_of(key, 1.0, money=0.1)) for key in wanted))


async def revoke(store: Store, name: str) -> None:
    print(await store.revoke_key("acme", "key_1", now=5.0))


async def write(store: Store, name: str) -> None:
    """Reserve and settle, with deferred records in between."""

    async def act(number: int) -> None:
        key = f"{name}_{number}"
        store.enqueue(closing(f"before_{key}", session_id=name))
        assert await store.reserve(reservation(key)) == Reserved()
        assert await store.close(closing(key, session_id=name, transition=ending(effect(key))))

    for first in range(0, 100, 10):
        await asyncio.gather(*map(act, range(first, first + 10)))
    await store.flush()


async def append(store: Store, name: str) -> None:
    """Append 30 entries to one run, against everybody else who does."""
    written = 0
    while written < 30:
        head = await store.load_run("acme", "run_1")
        assert head is not None
        body = f"{name} {written}".encode()
        written += await store.append_run(run(entries=head.entries), run_entries(head.entries + 1, body))


async def die_after_append(store: Store, name: str) -> None:
    await store.create_run(run(), run_entries(1, b"one"))
    await store.append_run(run(entries=1, outcome="completed"), run_entries(2, b"two", b"three"))
    os.kill(os.getpid(), signal.SIGKILL)


async def die_after_close(store: Store, name: str) -> None:
    store.enqueue(closing("deferred"))
    await store.reserve(reservation())
    await store.close(closing("closed", transition=ending(effect())))
    os.kill(os.getpid(), signal.SIGKILL)


async def die_after_flush(store: Store, name: str) -> None:
    for number in range(10):
        store.enqueue(closing(str(number)))
    await store.flush()
    os.kill(os.getpid(), signal.SIGKILL)


async def die_after_reserve(store: Store, name: str) -> None:
    await store.reserve(reservation(lease_until=10.0))
    os.kill(os.getpid(), signal.SIGKILL)


async def write_until_killed(store: Store, name: str) -> None:
    """Say the name of each action once it is closed, and go on."""

    async def act(worker: int) -> None:
        for number in itertools.count():
            key = f"{worker}_{number}"
            await store.reserve(reservation(key))
            await store.close(closing(key, transition=ending(effect(key))))
            print(key, flush=True)

    await asyncio.gather(*map(act, range(8)))


COMMANDS = {
    "write-until-killed": write_until_killed,
    "reserve": reserve,
    "charge": charge,
    "spend": spend,
    "charge-key": charge_key,
    "revoke": revoke,
    "write": write,
    "append": append,
    "die-after-append": die_after_append,
    "die-after-close": die_after_close,
    "die-after-flush": die_after_flush,
    "die-after-reserve": die_after_reserve,
}


async def main(command: str, url: str, name: str) -> None:
    store = open_url(url)
    sys.stdin.readline()  # all start when they are told to
    await COMMANDS[command](store, name)
    await store.shut()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
