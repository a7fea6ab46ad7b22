import pytest

from groundwire.contracts.decisions import Allow, Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.tools import Budget, Category
from groundwire.runtime.policies.budgets import over_budget, stored_scope, within_budget


@pytest.mark.requirement("B-114")
@pytest.mark.parametrize(
    ("unit", "maximum", "used", "allowed"),
    [
        ("calls", 2, 0, True),
        ("calls", 2, 1, True),
        ("calls", 2, 2, False),
        ("calls", 0, 0, False),
        ("calls", 1.5, 0, True),
        ("calls", 1.5, 1, False),
        ("tokens", 100, 0, True),
        ("tokens", 100, 99, True),
        ("tokens", 100, 100, False),
        ("tokens", 0, 0, False),
        ("money", 0.5, 0.49, True),
        ("money", 0.5, 0.5, False),
        ("money", 0.5, 0.7, False),
        ("ms", 1_000, 999.9, True),
        ("ms", 1_000, 1_000, False),
    ],
)
def test_calls_need_room_for_one_more_and_other_units_need_something_left(unit, maximum, used, allowed):
    decision = within_budget(Budget(name="b", max=maximum, unit=unit), used, "look")
    assert isinstance(decision, Allow if allowed else Deny)


def test_a_refusal_names_the_limit_and_tells_the_operator_which_budget():
    decision = over_budget(Budget(name="maps", by="session", max=3), "look")
    assert decision.type is ErrorType.BUDGET_EXCEEDED
    assert decision.retryable is False
    assert "3" in decision.message
    assert "maps" in decision.operator
    assert "retrieval" in over_budget(Budget(name="r", max=2, category=Category.RETRIEVAL), "look").message


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget(name="b", max=1), "1 tool call per turn"),
        (Budget(name="b", max=2), "2 tool calls per turn"),
        (Budget(name="b", max=0), "0 tool calls per turn"),
        (Budget(name="b", max=1, category=Category.RETRIEVAL), "1 retrieval call per turn"),
        (Budget(name="b", by="session", max=1, unit="tokens"), "1 token of tool output per session"),
        (
            Budget(name="b", by="request", max=500, unit="tokens", category=Category.ACTION),
            "500 tokens of action output per request",
        ),
        (Budget(name="b", by="post_id", max=0.5, unit="money"), "0.5 units of money per value of post_id"),
        (Budget(name="b", max=1_500, unit="ms"), "1500 ms of tool time per turn"),
    ],
)
def test_a_refusal_says_how_much_of_what_and_per_what(budget, limit):
    assert over_budget(budget, "look").message == (
        f"look was not run: the limit of {limit} is reached. Answer with what you have."
    )


def test_a_refusal_never_shows_a_model_the_name_of_a_budget_that_other_tools_may_share():
    decision = over_budget(Budget(name="secret_tool", max=1), "look")
    assert "secret_tool" not in decision.message
    assert "secret_tool" in decision.operator


@pytest.mark.parametrize(
    ("by", "scope"),
    [
        ("session", "session:s1"),
        ("request", "request:r1"),
        ("post_id", 'post_id:"p1"'),
        ("size", "size:2"),
        ("absent", "absent:null"),
        ("tags", 'tags:["a","b"]'),
    ],
)
def test_a_stored_budget_is_counted_under_the_value_that_it_goes_by(by, scope):
    arguments = {"post_id": "p1", "size": 2.0, "tags": ["a", "b"]}
    assert stored_scope(Budget(name="b", by=by, max=1), session_id="s1", request_id="r1", arguments=arguments) == scope
