"""From the raw argument text to arguments that fit: size, JSON, shape, schema."""

import dataclasses
import enum
import json
import math

import pydantic
import pytest
from msgspec import UNSET

from groundwire import ErrorType, Overrides, PolicyRule, Settings, Tool, tool
from groundwire.contracts.results import encode_result
from groundwire.contracts.schemas import envelope_problems
from groundwire.testing import assert_failed, assert_ok


@tool(category="retrieval")
def echo(text: str = "", limit: int = 10, **more) -> dict:
    """Say it again."""
    return {"text": text, "limit": limit}


ANYTHING = Tool(
    name="anything", description="Takes anything.", parameters={"type": "object"}, handler=lambda **given: given
)


@pytest.mark.requirement("C-138", "C-139")
@pytest.mark.parametrize("filler", ["x", "é", "汉", "🙂"])
async def test_arguments_of_exactly_the_limit_pass_and_one_byte_more_does_not(make, filler):
    runtime = make(ANYTHING)
    frame = len(b'{"a":""}')
    width = len(filler.encode())
    count, rest = divmod(200_000 - frame, width)
    fits = '{"a":"' + filler * count + "x" * rest + '"}'
    assert len(fits.encode()) == 200_000
    assert (await runtime.call("anything", fits)).ok
    error = assert_failed(await runtime.call("anything", fits[:-2] + 'x"}'), ErrorType.ARGUMENTS_TOO_LARGE)
    assert (error.retryable, error.partial_side_effects) == (False, False)


@pytest.mark.requirement("C-138")
async def test_the_limit_is_a_setting(make):
    settings = Settings(policies=(PolicyRule(limits=Overrides(max_args_bytes=7)),))
    runtime = make(ANYTHING, settings=settings)
    assert (await runtime.call("anything", '{"a":1}')).ok
    assert_failed(await runtime.call("anything", '{"a":11}'), ErrorType.ARGUMENTS_TOO_LARGE)


@pytest.mark.requirement("B-110", "C-027", "X-16")
@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "null}",
        "{'a': 1}",
        '{"a":1} {"b":2}',
        '{"a": NaN}',
        '{"a":}',
        '"\\ud800"',
        "\x00",
        '{"a":"\ud800"}',
        '{"a":"\x00"}',
        '{"a":"\x01"}',
    ],
)
async def test_text_that_is_not_json_is_refused_and_kept(make, calls_of, raw):
    runtime = make(ANYTHING)
    assert_failed(await runtime.call("anything", raw, caller="model"), ErrorType.VALIDATION, detail="INVALID_JSON")
    (row,) = await calls_of(runtime)
    assert (row.executed, row.step) == (False, "parse")


@pytest.mark.parametrize("raw", ["[]", "null", "1", "1.5", '"text"', "true"])
async def test_json_that_is_not_an_object_is_refused(make, raw):
    runtime = make(ANYTHING)
    assert_failed(await runtime.call("anything", raw), ErrorType.VALIDATION, detail="NOT_AN_OBJECT")


@pytest.mark.parametrize("depth", [100, 10_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
async def test_arguments_nested_too_deeply_are_refused(make, depth, opening, closing):
    runtime = make(ANYTHING)
    middle = "1" if ":" in opening else ""
    raw = '{"a":' + opening * depth + middle + closing * depth + "}"
    assert_failed(await runtime.call("anything", raw), ErrorType.VALIDATION, detail="TOO_DEEP")
    assert (await runtime.call("anything", '{"a":' + opening * 99 + middle + closing * 99 + "}")).ok


def endless():
    loop: list = []
    loop.append(loop)
    return loop


class Unspeakable:
    def __repr__(self):
        raise ValueError("no")


def deep():
    value: dict = {}
    for _ in range(10_000):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": math.nan},
        {"a": {1}},
        {1: 2},
        {"a": "\ud800"},
        {"a": endless()},
        {"a": Unspeakable()},
        deep(),
        object(),
        b"{}",
    ],
    ids=["nan", "set", "key", "surrogate", "cycle", "unspeakable", "deep", "object", "bytes"],
)
async def test_python_values_that_are_not_json_are_refused_not_raised(make, arguments):
    runtime = make(ANYTHING)
    assert_failed(await runtime.call("anything", arguments), ErrorType.VALIDATION)


@pytest.mark.parametrize("value", [10**40, -(10**40), 2**53 + 1, 1e308, -0.0, "", "\x00", "🙂" * 100, [], {}, None])
async def test_odd_but_valid_values_arrive_unchanged(make, value):
    runtime = make(ANYTHING)
    received = assert_ok(await runtime.call("anything", {"a": value}))
    assert received == {"a": value}
    assert type(received["a"]) is type(value)


@pytest.mark.requirement("B-110", "B-193", "B-140", "C-027")
@pytest.mark.parametrize(
    ("arguments", "path", "detail"),
    [
        ({"limit": "3"}, "limit:", "TYPE_MISMATCH"),
        ({"limit": True}, "limit:", "TYPE_MISMATCH"),
        ({"text": None}, "text:", "TYPE_MISMATCH"),
        ({"limit": 1.5}, "limit:", "TYPE_MISMATCH"),
    ],
)
async def test_a_wrong_type_is_refused_with_its_path(make, arguments, path, detail):
    runtime = make(echo)
    error = assert_failed(await runtime.call("echo", arguments), ErrorType.VALIDATION, detail=detail)
    assert path in error.message
    assert (error.retryable, error.partial_side_effects) == (False, False)


async def test_several_faults_are_several_errors_and_the_first_is_the_error(make):
    runtime = make(echo)
    result = await runtime.call("echo", {"text": 1, "limit": "x"})
    assert len(result.errors) == 2
    assert result.error == result.errors[0]
    assert {error.detail for error in result.errors} == {"TYPE_MISMATCH"}


async def test_no_arguments_at_all_are_an_empty_object(make):
    runtime = make(echo)
    assert assert_ok(await runtime.call("echo")) == {"text": "", "limit": 10}


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Box:
    size: Size
    items: list[int]


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)

    @pydantic.field_validator("name")
    @classmethod
    def not_blank(cls, name):
        if not name.strip():
            raise ValueError("a name is needed")
        return name


@tool(category="retrieval")
def pack(box: Box, who: Person, sizes: list[Size], note: str | None = None) -> dict:
    """Pack a box."""
    return {"box": box, "who": who, "sizes": sizes, "types": [type(box).__name__, type(who).__name__]}


GOOD = {"box": {"size": "small", "items": [1]}, "who": {"name": "Ada", "age": 36}, "sizes": ["large"]}


async def test_models_dataclasses_and_enums_are_made_for_the_handler_and_become_json_again(make):
    runtime = make(pack)
    assert assert_ok(await runtime.call("pack", GOOD)) == {**GOOD, "types": ["Box", "Person"]}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"box": {"size": "huge", "items": []}}, "box.size"),
        ({"box": {"size": "small", "items": ["x"]}}, "box.items[0]"),
        ({"who": {"name": "Ada", "age": -1}}, "who.age"),
        ({"sizes": ["large", "x"]}, "sizes[1]"),
    ],
)
async def test_faults_inside_models_have_their_path(make, change, path):
    runtime = make(pack)
    error = assert_failed(await runtime.call("pack", {**GOOD, **change}), ErrorType.VALIDATION)
    assert f"{path}:" in error.message


async def test_what_only_the_models_own_validator_refuses_is_a_validation_error_too(make, calls_of):
    runtime = make(pack)
    blank = {**GOOD, "who": {"name": " ", "age": 1}}
    error = assert_failed(await runtime.call("pack", blank), ErrorType.VALIDATION, detail="INVALID_VALUE")
    assert "who.name" in error.message or "who:" in error.message
    assert (error.retryable, error.partial_side_effects) == (False, False)


async def test_each_error_has_its_place_in_the_arguments_for_machines(make):
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "limit": {"type": "integer"}},
        "required": ["query"],
    }
    runtime = make(Tool(name="find", description="F.", parameters=schema, handler=lambda **_: 1))
    result = await runtime.call("find", {"tags": ["a", 2], "limit": "x"})
    assert sorted(result.meta.error_paths) == ["/limit", "/query", "/tags/1"]
    assert len(result.errors) == 3
    assert envelope_problems(json.loads(encode_result(result))) == []
    unreadable = await runtime.call("find", "{")
    assert unreadable.meta.error_paths is UNSET


async def test_a_tool_whose_schema_cannot_be_used_is_refused_by_name_and_recorded(make, calls_of):
    @tool(parameters={"type": "object", "properties": {"a": {"type": "wrong"}}})
    def odd(a):
        """Odd."""

    runtime = make(odd)
    assert_failed(await runtime.call("odd", {"a": 1}, session="s"), ErrorType.NOT_FOUND, detail="INVALID_PARAMETERS")
    (row,) = await calls_of(runtime)
    assert (row.ok, row.executed) == (False, False)
