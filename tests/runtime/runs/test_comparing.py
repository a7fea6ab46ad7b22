"""Two records of a run side by side, also where they are long and nothing fits."""

import sys

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem
from groundwire.contracts.records import CallRecord
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.contracts.runs import Answered, Plan, Planned, Run
from groundwire.runtime.runs.comparing import compare_steps
from groundwire.runtime.runs.tapes import _under_their_roots
from groundwire.runtime.runs.traces import Trace

RUN = Run(tenant="t", run_id="r")


def asking(step, *calls):
    items = tuple(
        CallItem(call=ToolCall(call_id=f"{step}_{place}", name=name, raw=raw, origin="x"))
        for place, (name, raw) in enumerate(calls)
    )
    finish = Finish(reason=FinishReason.TOOL_CALLS)
    return Answered(step=step, fingerprint="", reply=Reply(items=items, finish=finish))


def trace(*entries):
    return Trace(run=RUN, entries=entries)


def found(one, other):
    return [(change.kind, change.name, change.recorded, change.replayed) for change in compare_steps(one, other)]


def test_calls_are_paired_with_their_like_and_then_with_others_of_their_tool():
    one = trace(asking(1, ("look", '{"at": 1}'), ("pay", "{}"), ("look", "[2]"), ("look", '{"at": 1}'), ("go", "{")))
    other = trace(asking(1, ("look", '{"at":1}'), ("look", "[3]"), ("look", "[4]"), ("look", "[5]"), ("stay", "{}")))
    assert found(one, other) == [
        ("call_changed", "look", [2], [3]),
        ("call_changed", "look", {"at": 1}, [4]),
        ("call_added", "look", None, [5]),
        ("call_added", "stay", None, {}),
        ("call_removed", "pay", {}, None),
        ("call_removed", "go", "{", None),
    ]


def test_many_calls_of_which_none_is_the_same_are_compared_in_one_go():
    count = 30_000
    one = trace(asking(1, *(("look", f"[{number}]") for number in range(count))))
    other = trace(asking(1, *(("look", f"[{count + number}]") for number in range(count))))
    differences = found(one, other)
    assert len(differences) == count
    assert differences[-1] == ("call_changed", "look", [count - 1], [2 * count - 1])


def test_twice_as_many_calls_are_twice_the_work():
    few, many = (_lines_run(count) for count in (200, 400))
    assert few > 200
    assert many < 2.2 * few


def _lines_run(count):
    """How many lines of Python it takes to compare so many calls of which none is the same."""
    one = trace(asking(1, *(("look", f"[{number}]") for number in range(count))))
    other = trace(asking(1, *(("look", f"[{count + number}]") for number in range(count))))
    lines = 0

    def count_lines(_frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return count_lines

    before = sys.gettrace()
    sys.settrace(count_lines)
    try:
        found(one, other)
    finally:
        sys.settrace(before)
    return lines


def test_a_change_of_the_plan_is_told_once_while_it_holds():
    def run(*models):
        entries = []
        for step, model in enumerate(models, 1):
            entries += [Planned(plan=Plan(model=model), digest=model)] if model else []
            entries.append(asking(step))
        return trace(*entries)

    changes = compare_steps(run("a", "", "", "b", "a"), run("c", "", "c", "c", "a"))
    assert [(change.step, change.recorded, change.replayed) for change in changes] == [(1, "a", "c"), (4, "b", "c")]


def record(call_id, parent=""):
    return CallRecord(
        tenant="t", session_id="s", call_id=call_id, turn=1, run_id="r", tool="look", origin="", caller="model",
        raw="{}", input_digest="", result=b"{}", ok=True, error_type="", step="", executed=True, duration_ms=0.0, chars=0,
        tokens=0, parent_call_id=parent,
    )  # fmt: skip


def test_calls_that_tools_made_belong_to_the_call_of_the_model_above_them():
    records = [record("c", "b"), record("b", "a"), record("d"), record("a"), record("e", "nobody")]
    assert _under_their_roots(records) == {"a": [0, 1, 3], "d": [2], "nobody": [4]}


def test_a_record_in_which_calls_made_each_other_is_still_read():
    under = _under_their_roots([record("a", "b"), record("b", "a")])
    assert sorted(place for places in under.values() for place in places) == [0, 1]
