"""Each call leaves exactly one audit record, refused ones too, and the record proves what was asked and answered."""

import hashlib
import json

import msgspec
import pytest

from groundwire import Budget, ErrorType, Gate, Ground, Settings, Tool, ToolError, say, tool
from groundwire.assembly import AuditSettings
from groundwire.contracts.canonical import digest
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, assert_ok


@tool(category="action")
def book(place: str, people: int = 2) -> dict:
    """Book."""
    if place == "full":
        raise ToolError(ErrorType.CONFLICT, "full", detail="WINDOW_CLOSED")
    return {"booked": place, "people": people}


def sha(value):
    """The hash as anybody can compute it, for values without floats."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.requirement("D-111", "D-112", "D-113", "D-114", "D-115", "D-116", "D-117", "D-118", "D-119", "D-120")
async def test_a_record_has_the_ten_fields_of_the_contract(make, audit_of):
    clock = FakeClock()
    runtime = make(book, clock=clock, on_step=lambda step, _: clock.advance(0.25) if step == "invoke" else None)
    result = await runtime.call("book", {"people": 4, "place": "x"}, request_id="r-1")
    (entry,) = await audit_of(runtime)
    assert entry.id
    assert entry.request_id == "r-1"
    assert entry.tool_name == "book"
    assert entry.input_hash == sha({"place": "x", "people": 4})
    assert entry.output_hash == sha({"booked": "x", "people": 4})
    assert entry.success is True
    assert entry.duration_ms == 250
    assert entry.error is None
    assert entry.created_at == "2023-11-14T22:13:20.000Z"
    assert set(msgspec.to_builtins(entry)) >= {
        *("id", "request_id", "tool_name", "input_hash", "output_hash"),
        *("success", "duration_ms", "error", "created_at"),
    }
    assert entry.call_id == result.meta.call_id
    assert entry.registry_version == runtime.registry.version


@pytest.mark.requirement("D-116", "D-117", "D-119")
async def test_the_record_of_a_failure_names_the_error_and_hashes_it(make, audit_of):
    runtime = make(book)
    result = await runtime.call("book", {"place": "full"})
    (entry,) = await audit_of(runtime)
    assert entry.success is False
    assert entry.error.startswith("CONFLICT/WINDOW_CLOSED")
    assert entry.output_hash == digest(msgspec.to_builtins(result.error))


GATED = Tool(name="gated", description="G.", handler=lambda: 1, gates=[Gate(flag="NOPE", answer="off")])
CLOSED = Tool(name="closed", description="C.", handler=lambda: 1, gates=["NOPE"])
ASKED = Tool(name="asked", description="A.", handler=lambda: 1, confirm=True)
SAID = Tool(
    name="said",
    description="S.",
    parameters={"type": "object", "properties": {"quote": {"type": "string"}}},
    handler=lambda quote: 1,
    ground={"quote": Ground()},
)
POOR = Tool(name="poor", description="P.", handler=lambda: 1, budget=[Budget(name="b", max=0)])
VOICE = Tool(name="voice", description="V.", handler=lambda: 1, modes="voice")
HIDDEN = Tool(name="hidden", description="H.", handler=lambda: 1, exposure="internal")


@pytest.mark.requirement("D-111", "D-117")
@pytest.mark.parametrize(
    ("name", "arguments", "decision", "step"),
    [
        ("book", {"place": "x"}, "executed", "settle"),
        ("book", {"place": "full"}, "executed", "settle"),
        ("no", {}, "refused", "resolve"),
        ("hidden", {}, "refused", "mask"),
        ("voice", {}, "refused", "mode"),
        ("book", "x" * 200_001, "refused", "size"),
        ("book", "{", "refused", "parse"),
        ("book", {"place": 1}, "refused", "validate"),
        ("poor", {}, "refused", "budget"),
        ("closed", {}, "refused", "gates"),
        ("gated", {}, "answered", "gates"),
        ("said", {"quote": "never"}, "refused", "ground"),
        ("asked", {}, "refused", "confirm"),
    ],
)
async def test_every_way_through_the_pipeline_leaves_one_row_and_one_record(
    make, audit_of, calls_of, name, arguments, decision, step
):
    runtime = make(book, GATED, CLOSED, ASKED, SAID, POOR, VOICE, HIDDEN)
    result = await runtime.call(name, arguments, session="s", caller="model", history=[say("user", "hi")])
    (entry,) = await audit_of(runtime)
    assert (entry.decision, entry.success, entry.call_id) == (decision, result.ok, result.meta.call_id)
    assert entry.reason.split(":")[0] == step
    assert (entry.tool_name, entry.session_id, entry.caller) == (name, "s", "model")
    (row,) = await calls_of(runtime)
    assert (row.call_id, row.step, row.executed) == (result.meta.call_id, step, decision == "executed")
    assert row.input_digest == entry.input_hash


async def test_replayed_and_reconciled_calls_have_records_of_their_own(make, audit_of):
    runs = []

    @tool(category="action", reconcile=lambda: "found")
    def act() -> None:
        """Act."""
        runs.append(1)
        raise ValueError

    runtime = make(act)
    for _ in range(3):
        await runtime.call("act", idempotency_key="k")
    assert [entry.decision for entry in await audit_of(runtime)] == ["executed", "reconciled", "replayed"]
    assert [entry.success for entry in await audit_of(runtime)] == [False, True, True]
    assert {entry.effect_key for entry in await audit_of(runtime)} == {"caller:k"}


async def test_arguments_too_large_to_be_kept_are_still_hashed_whole(make, audit_of, calls_of):
    raw = "x" * 1_000_000
    runtime = make(book)
    await runtime.call("book", raw)
    (entry,) = await audit_of(runtime)
    assert entry.input_hash == hashlib.sha256(raw.encode()).hexdigest()


async def test_equal_inputs_have_equal_hashes_however_they_were_written(make, audit_of):
    runtime = make(book)
    for raw in ('{"place":"x","people":2}', '{ "people": 2.0, "place": "\\u0078" }'):
        assert_ok(await runtime.call("book", raw))
    assert len({entry.input_hash for entry in await audit_of(runtime)}) == 1


async def test_the_records_of_a_turn_are_there_when_it_has_ended(make):
    runtime = make(book)
    async with runtime.turn(session="s") as turn:
        for name in ("book", "no", "book"):
            await runtime.call(name, {"place": name}, turn=turn)
    report = await runtime.verify_audit()
    assert (report.records, report.problems) == (3, ())


async def test_a_key_in_the_environment_makes_the_chain_unforgeable(make, monkeypatch):
    monkeypatch.setenv("GROUNDWIRE_TEST_KEY", "secret")
    keyed = Settings(audit=AuditSettings(key_env="GROUNDWIRE_TEST_KEY"))
    store_and_report = []
    runtime = make(book, settings=keyed)
    await runtime.call("book", {"place": "x"})
    store_and_report.append(await runtime.verify_audit())
    assert store_and_report[0].keyed is True
    assert store_and_report[0].ok


async def test_records_of_several_runtimes_form_one_chain(make):
    store = MemoryStore()
    runtimes = [make(book, store=store) for _ in range(3)]
    for number in range(9):
        await runtimes[number % 3].call("book", {"place": str(number)})
    report = await runtimes[0].verify_audit()
    assert (report.records, report.problems) == (9, ())


@pytest.mark.requirement("D-001")
async def test_a_model_only_proposes_and_nothing_happens_unrecorded(make, calls_of, audit_of):
    runs = []

    @tool(category="action")
    def act(n: int) -> int:
        """Act."""
        runs.append(n)
        return n

    runtime = make(act)
    for arguments in ({"n": 1}, {"n": "x"}, {"n": 2}):
        await runtime.call("act", arguments, caller="model")
    executed = [row for row in await calls_of(runtime) if row.executed]
    assert [json.loads(row.raw)["n"] for row in executed] == runs
    assert len(await audit_of(runtime)) == 3


async def test_old_records_can_be_let_go_and_the_chain_still_holds(make, clock, audit_of):
    runtime = make(book, clock=clock)
    for _ in range(3):
        await runtime.call("book", {"place": "x"})
        clock.advance(60)
    assert await runtime.prune_audit(older_than_seconds=90, by="ada") == 2
    report = await runtime.verify_audit()
    assert report.problems == ()
    (notice,) = await audit_of(runtime, kind="retention")
    assert notice.actor == "ada"
