"""Other implementations of a tool: for named people, for organisations, for a share of everybody."""

import pytest

from groundwire import Tool, Variant
from groundwire.testing import assert_ok


def answering(*declared, **handlers):
    return Tool(
        name="search",
        description="Search.",
        handler=lambda: "plain",
        category="retrieval",
        policy={"variants": list(declared)},
        variants=handlers,
    )


BETA = Variant(name="beta", users=("ada",), organisations=("acme",))


@pytest.mark.requirement("B-222", "OQ-22")
@pytest.mark.parametrize(
    ("options", "variant"),
    [
        ({"user": "ada"}, "beta"),
        ({"user": "bob"}, ""),
        ({"user": "bob", "organisation": "acme"}, "beta"),
        ({"organisation": "other"}, ""),
        ({}, ""),
    ],
)
async def test_a_user_or_organisation_gets_its_own_implementation_and_the_record_says_so(
    make, audit_of, calls_of, options, variant
):
    runtime = make(answering(BETA, beta=lambda: "beta"))
    result = await runtime.call("search", session="s", **options)
    assert assert_ok(result) == (variant or "plain")
    assert (result.meta.variant or "") == variant
    assert [entry.variant for entry in await audit_of(runtime)] == [variant]
    assert [row.variant for row in await calls_of(runtime)] == [variant]


@pytest.mark.requirement("B-223", "OQ-23")
async def test_a_share_of_everybody_gets_the_other_implementation_and_keeps_it(make):
    runtime = make(answering(Variant(name="b", percent=50), b=lambda: "b"))
    people = [f"user-{number}" for number in range(60)]
    first = [assert_ok(await runtime.call("search", user=person)) for person in people]
    again = [assert_ok(await runtime.call("search", user=person)) for person in people]
    assert first == again
    assert set(first) == {"plain", "b"}


@pytest.mark.requirement("OQ-23")
async def test_without_a_user_the_session_decides(make):
    runtime = make(answering(Variant(name="b", percent=50), b=lambda: "b"))
    for number in range(20):
        answers = {assert_ok(await runtime.call("search", session=f"s{number}")) for _ in range(3)}
        assert len(answers) == 1


async def test_a_variant_is_checked_by_the_same_schema_and_rules(make):
    from groundwire import ErrorType
    from groundwire.testing import assert_failed

    strict = Tool(
        name="search",
        description="Search.",
        parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        handler=lambda n: n,
        policy={"variants": [{"name": "b", "percent": 100}]},
        variants={"b": lambda n: n * 2},
    )
    runtime = make(strict)
    assert assert_ok(await runtime.call("search", {"n": 2})) == 4
    assert_failed(await runtime.call("search", {"n": "2"}), ErrorType.VALIDATION)
