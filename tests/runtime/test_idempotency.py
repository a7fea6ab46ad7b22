import pytest

from groundwire.contracts.tools import ToolPolicy, ToolSpec
from groundwire.runtime.idempotency import caller_key, compared_arguments, effect_key, nested_key


def spec(**policy):
    return ToolSpec(tool_id="t", wire_name="t", policy=ToolPolicy(**policy))


def key(scope, arguments=None, *, digest="d", run_id="r", session_id="s", call_id="c"):
    return effect_key(spec(scope=scope), arguments or {}, digest, run_id=run_id, session_id=session_id, call_id=call_id)


@pytest.mark.parametrize(
    ("scope", "changes", "same"),
    [
        ("run", {"call_id": "c2"}, True),
        ("run", {"session_id": "s2"}, False),
        ("run", {"run_id": "r2"}, False),
        ("run", {"digest": "d2"}, False),
        ("conversation", {"run_id": "r2", "call_id": "c2"}, True),
        ("conversation", {"session_id": "s2"}, False),
        ("conversation", {"digest": "d2"}, False),
        ("conversation", {"session_id": ""}, False),
        ("call", {"run_id": "r2", "digest": "d2"}, True),
        ("call", {"call_id": "c2"}, False),
        ("call", {"session_id": "s2"}, False),
        (("a",), {"digest": "d2", "run_id": "r2", "session_id": "s2", "call_id": "c2"}, True),
        (("a",), {"arguments": {"a": 1, "b": 3}}, True),
        (("a",), {"arguments": {"a": 2, "b": 2}}, False),
        (("a", "b"), {"arguments": {"b": 2, "a": 1}}, True),
    ],
)
def test_a_scope_says_which_calls_are_one_effect(scope, changes, same):
    arguments = {"a": 1, "b": 2}
    changed = {"arguments": arguments, **changes}
    assert (key(scope, arguments) == key(scope, **changed)) is same


def test_without_a_session_a_conversation_is_its_run():
    assert key("conversation", session_id="") == key("conversation", session_id="", call_id="c2")
    assert key("conversation", session_id="") != key("conversation", session_id="", run_id="r2")


def test_keys_of_different_origin_never_meet():
    made = {key(scope) for scope in ("run", "conversation", "call", ("a",))}
    made |= {caller_key("run:r:d"), nested_key("p", "run:r:d", "t", "d")}
    assert len(made) == 6


def test_a_nested_key_depends_on_parent_tool_and_input():
    alike = [
        ("p", "k", "t", "d"),
        ("q", "k", "t", "d"),
        ("p", "l", "t", "d"),
        ("p", "k", "u", "d"),
        ("p", "k", "t", "e"),
    ]
    assert nested_key(*alike[0]) == nested_key("p", "k", "t", "d")
    assert len({nested_key(*parts) for parts in alike}) == len(alike)


@pytest.mark.requirement("X-23")
def test_of_the_supplied_arguments_only_those_that_name_the_object_are_compared():
    names = ("request_id", "workspace", "timestamp", "actor", "idempotency_key")
    supplied = dict.fromkeys(names, "x")
    compared = compared_arguments(names, {"text": "hi", "timestamp": "model's"}, supplied)
    assert compared == {"text": "hi", "request_id": "x", "workspace": "x"}


def test_what_is_not_declared_as_supplied_is_an_argument_like_any_other():
    assert compared_arguments((), {"timestamp": 1}, {"request_id": "x"}) == {"timestamp": 1}
