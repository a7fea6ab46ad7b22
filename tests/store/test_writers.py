"""Group commit when the database misbehaves. The engine is injected; everything above it is real."""

import asyncio
import sqlite3
import threading

import pytest

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import StoreError, StoreUnavailable
from groundwire.contracts.records import ConfirmationStatus, Reserved
from groundwire.store.batches import InlineBatches, TaskBatches, ThreadBatches
from groundwire.store.databases import SqlDatabase
from groundwire.store.sql_store import SqlStore
from groundwire.store.sqlite import SqliteEngine, SqliteStore
from groundwire.store.statements import ENTRIES_PER_RUN
from groundwire.store.writers import Writer
from tests.conformance.builders import closing, confirmation, effect, ending, reservation, run, run_entries, verify


class Trouble(Exception):
    """Stands for a driver's exception about a lost connection."""


class TroubledEngine:
    """A real file whose connection fails as the test says, and that counts its transactions."""

    def __init__(self, path, *, syncs=False):
        self.real = SqliteEngine(path, syncs=syncs, busy_seconds=1.0)
        self.troubles = []
        self.commits = []
        self.threads = []
        self.gate = threading.Event()
        self.gate.set()
        self._durable = False

    def __getattr__(self, name):
        return getattr(self.real, name)

    def _next(self, moment):
        if self.troubles and self.troubles[0] == moment:
            self.troubles.pop(0)
            raise Trouble(moment)

    async def begin(self, *, durable, single):
        self._next("begin")
        self.gate.wait()
        self._durable = durable
        self.threads.append(threading.current_thread().name)
        return await self.real.begin(durable=durable, single=single)

    async def commit(self):
        self._next("before commit")
        await self.real.commit()
        self.commits.append("durable" if self._durable else "soft")
        self._next("after commit")

    def explain(self, error):
        return StoreUnavailable(str(error), hint="wait") if isinstance(error, Trouble) else self.real.explain(error)


@pytest.fixture(params=[InlineBatches, ThreadBatches, TaskBatches])
async def troubled(request, tmp_path):
    engine = TroubledEngine(tmp_path / "store.db")
    writer = Writer(engine, Chain(), syncs=False)
    store = SqlStore(engine, writer, request.param(writer), SqlDatabase(None, engine.fetch_dicts))
    await store.open()
    yield store, engine
    engine.troubles.clear()
    await store.shut()


@pytest.mark.parametrize("moment", ["begin", "before commit"])
async def test_deferred_records_wait_for_better_times(troubled, moment):
    store, engine = troubled
    for number in range(3):
        store.enqueue(closing(str(number)))
    engine.troubles = [moment]
    with pytest.raises(StoreUnavailable) as refused:
        await store.flush()
    assert refused.value.hint
    assert await store.find_call("acme", "ses_1", "call_1") is not None
    store.enqueue(closing("3"))
    assert (await store.flush()).seq == 4
    report = await verify(store)
    assert (report.ok, report.records) == (True, 4)


async def test_every_caller_of_a_failed_batch_hears_of_it(troubled):
    store, engine = troubled
    engine.troubles = ["begin"] * 20
    outcomes = await asyncio.gather(
        *(store.reserve(reservation(str(number))) for number in range(20)), return_exceptions=True
    )
    engine.troubles = []
    assert {type(outcome) for outcome in outcomes} <= {StoreUnavailable, Reserved}
    assert isinstance(outcomes[0], StoreUnavailable)
    assert await store.reserve(reservation("later")) == Reserved()


async def test_a_commit_whose_answer_got_lost_is_not_written_twice(troubled):
    store, engine = troubled
    store.enqueue(closing("deferred"))
    await store.reserve(reservation())
    engine.troubles = ["after commit"]
    assert await store.close(closing("closed", transition=ending(effect())))
    report = await verify(store)
    assert (report.ok, report.records) == (True, 2)


async def test_a_doubtful_commit_is_cleared_up_when_the_store_is_back(troubled):
    store, engine = troubled
    store.enqueue(closing("deferred"))
    engine.troubles = ["after commit", "begin"]
    with pytest.raises(StoreUnavailable):
        await store.flush()
    assert (await store.flush()).seq == 1
    assert (await verify(store)).records == 1


async def test_a_doubtful_commit_that_failed_is_repeated(troubled):
    store, engine = troubled
    store.enqueue(closing("deferred"))
    engine.troubles = ["before commit", "begin"]
    with pytest.raises(StoreUnavailable):
        await store.flush()
    assert (await store.flush()).seq == 1
    assert (await verify(store)).records == 1


async def test_many_at_once_need_few_transactions(troubled):
    store, engine = troubled

    async def act(key):
        await store.reserve(reservation(key))
        await store.close(closing(key, transition=ending(effect(key))))

    await asyncio.gather(*(act(str(number)) for number in range(64)))
    assert len(engine.commits) <= 8


async def test_decisions_and_ends_of_calls_are_chained_in_one_transaction(troubled):
    store, engine = troubled
    asked = await store.create_confirmation(confirmation())
    engine.commits.clear()
    decision = store.decide_confirmation(
        "acme",
        asked.confirmation_id,
        ConfirmationStatus.APPROVED,
        by="ann",
        note="",
        now=2.0,
        entry=closing("decided").entry,
    )
    ends = [store.close(closing(name)) for name in ("1", "2", "3")]
    assert await asyncio.gather(store.reserve(reservation()), decision, *ends) == [Reserved(), True, True, True, True]
    assert len(engine.commits) <= 2
    report = await verify(store)
    assert (report.ok, report.records) == (True, 4)


async def test_a_chain_that_another_process_moved_on_is_linked_to_its_end(tmp_path):
    ours, theirs = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "store.db")
    for number in range(3):
        assert await ours.close(closing(f"ours {number}"))
        assert await theirs.close(closing(f"theirs {number}"))
    assert await ours.close(closing("last"))
    report = await verify(theirs)
    assert (report.ok, report.records) == (True, 7)
    await ours.shut()
    await theirs.shut()


async def test_a_chain_whose_head_is_gone_takes_no_more_records(tmp_path):
    store = SqliteStore(tmp_path / "store.db")
    assert await store.close(closing("before"))
    await store.database.execute("DELETE FROM audit_head")
    with pytest.raises(StoreError, match="head"):
        await store.close(closing("after"))
    assert [row[0] for row in await store._reader.fetch("SELECT call_id FROM calls")] == ["call_before"]
    await store.shut()


@pytest.mark.parametrize("troubled", [ThreadBatches], indirect=True)
async def test_what_arrives_while_the_disk_is_slow_goes_together(troubled):
    store, engine = troubled
    engine.gate.clear()
    reserving = [asyncio.create_task(store.reserve(reservation(str(number)))) for number in range(64)]
    await asyncio.sleep(0)
    engine.gate.set()
    assert await asyncio.gather(*reserving) == [Reserved()] * 64
    assert len(engine.commits) <= 2


@pytest.mark.parametrize(("slow_seconds", "second_thread"), [(60.0, "MainThread"), (0.0, "groundwire-store")])
async def test_the_loop_waits_for_a_quick_disk_but_not_for_a_slow_one(tmp_path, slow_seconds, second_thread):
    engine = TroubledEngine(tmp_path / "store.db", syncs=True)
    writer = Writer(engine, Chain(), syncs=True)
    batches = ThreadBatches(writer, slow_seconds=slow_seconds)
    store = SqlStore(engine, writer, batches, SqlDatabase(None, engine.fetch_dicts))
    await store.reserve(reservation("1"))
    await store.reserve(reservation("2"))
    assert engine.threads == ["MainThread", second_thread]
    await store.shut()


async def test_deferred_records_cost_no_transaction_of_their_own(troubled):
    store, engine = troubled
    for number in range(100):
        store.enqueue(closing(str(number)))
    await store.reserve(reservation())
    await store.close(closing("end", transition=ending(effect())))
    assert len(engine.commits) == 2
    await store.flush()
    assert len(engine.commits) == 2


async def test_a_flood_of_deferred_records_is_written_without_being_asked(troubled):
    store, _ = troubled
    for number in range(600):
        store.enqueue(closing(str(number)))
    await store.reserve(reservation())  # its turn comes after theirs
    assert len(await store._reader.fetch("SELECT seq FROM calls")) >= 256


async def test_at_level_power_reservations_and_flushes_reach_the_disk(tmp_path):
    engine = TroubledEngine(tmp_path / "store.db", syncs=True)
    writer = Writer(engine, Chain(), syncs=True)
    store = SqlStore(engine, writer, ThreadBatches(writer), SqlDatabase(None, engine.fetch_dicts))
    await store.reserve(reservation())
    await store.close(closing("1", transition=ending(effect())))
    await store.flush()
    await store.flush()
    store.enqueue(closing("2"))
    await store.flush()
    assert engine.commits == ["durable", "soft", "durable", "durable"]
    await store.shut()


async def test_at_level_power_runs_reach_the_disk(tmp_path):
    engine = TroubledEngine(tmp_path / "store.db", syncs=True)
    writer = Writer(engine, Chain(), syncs=True)
    store = SqlStore(engine, writer, ThreadBatches(writer), SqlDatabase(None, engine.fetch_dicts))
    await store.create_run(run(), run_entries(1, b"one"))
    await store.append_run(run(entries=1), run_entries(2, b"two"))
    await store.append_run(run(entries=2, outcome="completed"), [])
    assert engine.commits == ["durable", "durable", "durable"]
    await store.shut()


@pytest.mark.parametrize("moment", ["begin", "before commit"])
async def test_an_append_that_failed_left_nothing_and_can_be_made_again(troubled, moment):
    store, engine = troubled
    await store.create_run(run(), [])
    engine.troubles = [moment]
    with pytest.raises(StoreUnavailable):
        await store.append_run(run(), run_entries(1, b"one", b"two"))
    assert await store.load_run("acme", "run_1") == run()
    assert await store.append_run(run(), run_entries(1, b"one", b"two"))
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")


async def test_an_append_whose_answer_got_lost_is_found_by_reading(troubled):
    store, engine = troubled
    await store.create_run(run(), [])
    engine.troubles = ["after commit"]
    with pytest.raises(StoreUnavailable):
        await store.append_run(run(), run_entries(1, b"one"))
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one")
    assert not await store.append_run(run(), run_entries(1, b"one"))


@pytest.mark.parametrize(("stored", "fits"), [(ENTRIES_PER_RUN - 2, True), (ENTRIES_PER_RUN - 1, False)])
async def test_a_run_ends_before_the_numbers_of_the_next_begin(tmp_path, stored, fits):
    store = SqliteStore(tmp_path / "store.db")
    await store.create_run(run(), [])
    await store.create_run(run("run_2"), run_entries(1, b"next"))
    await store.database.execute("UPDATE runs SET entries = $1 WHERE run_id = 'run_1'", stored)
    last = run_entries(stored + 1, b"last")
    if fits:
        assert await store.append_run(run(entries=stored), last)
    else:
        with pytest.raises(StoreError, match="run_1"):
            await store.append_run(run(entries=stored), last)
    assert await store.run_entries("acme", "run_1") == (last if fits else [])
    assert await store.run_entries("acme", "run_2") == run_entries(1, b"next")
    await store.shut()


async def test_shutting_at_level_power_waits_for_what_was_just_handed_in(tmp_path):
    engine = TroubledEngine(tmp_path / "store.db", syncs=True)
    writer = Writer(engine, Chain(), syncs=True)
    store = SqlStore(engine, writer, ThreadBatches(writer), SqlDatabase(None, engine.fetch_dicts))
    reserving = asyncio.create_task(store.reserve(reservation()))
    await asyncio.sleep(0)
    await store.shut()
    assert engine.commits == ["durable"]
    assert await reserving == Reserved()


@pytest.mark.parametrize("durability", ["process", "power"])
async def test_a_locked_file_is_unavailable_and_later_served(tmp_path, durability):
    path = tmp_path / "store.db"
    store = SqliteStore(path, durability=durability, busy_seconds=0.01)
    await store.open()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.enqueue(closing("deferred"))
    with pytest.raises(StoreUnavailable, match=r"store\.db"):
        await store.reserve(reservation())
    with pytest.raises(StoreUnavailable):
        await store.flush()
    other.execute("COMMIT")
    other.close()
    assert await store.reserve(reservation()) == Reserved()
    assert (await store.flush()).seq == 1
    await store.shut()


async def test_a_file_that_is_no_database_is_refused_with_a_hint(tmp_path):
    (tmp_path / "store.db").write_text("no database at all, but long enough to have a header " * 20)
    with pytest.raises(StoreError) as refused:
        await SqliteStore(tmp_path / "store.db").open()
    assert not isinstance(refused.value, StoreUnavailable)
    assert refused.value.hint


async def test_a_missing_folder_is_named_as_the_cause(tmp_path):
    store = SqliteStore(tmp_path / "missing" / "store.db")
    with pytest.raises(StoreUnavailable, match=r"store\.db") as refused:
        await store.reserve(reservation())
    assert "folder" in refused.value.hint
    (tmp_path / "missing").mkdir()
    assert await store.reserve(reservation()) == Reserved()
    await store.shut()


async def test_a_store_of_a_newer_version_is_refused(tmp_path):
    store = SqliteStore(tmp_path / "store.db")
    await store.database.execute("INSERT INTO schema_migrations (app, name) VALUES ('groundwire', '9999_later.sql')")
    await store.shut()
    with pytest.raises(StoreError, match="newer"):
        await SqliteStore(tmp_path / "store.db").open()
