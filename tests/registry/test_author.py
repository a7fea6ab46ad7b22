import asyncio
import dataclasses
import enum
import functools
import inspect
import math
import subprocess
import sys
import typing
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Optional
from unittest.mock import AsyncMock, MagicMock

import pytest
from inline_snapshot import snapshot
from pydantic import AfterValidator, BaseModel, Field

from groundwire.contracts.errors import RegistryError, SchemaTooComplex
from groundwire.contracts.tools import BargeIn, Budget, Category, Exposure, Gate, Ground, ToolPolicy, Variant
from groundwire.registry import ArgumentFault, Registry, Tool, tool


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    title: str = Field(default="home", description="What it is called.")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(typing.TypedDict, total=False):
    loud: bool
    at: date


class Booking(typing.TypedDict):
    booked: bool


class Node(BaseModel):
    children: list["Node"] = []


def properties(function) -> dict:
    return tool(function).spec.parameters["properties"]


@pytest.mark.requirement("C-023", "B-140")
def test_a_function_becomes_a_tool_with_schema_description_and_handler():
    @tool(category="action", modes=("voice", "text"), confirm=True)
    async def book_table(place: str, people: int = 2, context: Any = None) -> dict:
        """Book a table. People is the number of guests.

        Args:
            place: Where to eat.
        """
        return {"place": place, "people": people}

    spec = book_table.spec
    assert spec.tool_id == spec.wire_name == "book_table"
    assert (spec.category, spec.modes, spec.requires_confirmation) == (Category.ACTION, ("text", "voice"), True)
    assert spec.description == spec.summary == "Book a table. People is the number of guests."
    assert spec.parameters == snapshot(
        {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Where to eat."},
                "people": {"type": "integer", "default": 2},
            },
            "required": ["place"],
            "additionalProperties": False,
        }
    )
    assert spec.result is None
    handler = book_table.handler()
    assert (handler.kind, handler.wants_context, handler.convert) == ("async", True, None)
    assert spec.handler_path.endswith(
        ":test_a_function_becomes_a_tool_with_schema_description_and_handler.<locals>.book_table"
    )


@pytest.mark.requirement("B-139")
def test_a_tool_is_still_the_function():
    @tool
    def double(number: int) -> int:
        """Twice."""
        return number * 2

    assert double(4) == double(number=4) == 8
    assert (double.__name__, double.__doc__, double.__wrapped__(3)) == ("double", "Twice.", 6)
    assert list(inspect.signature(double).parameters) == ["number"]
    assert repr(double) == "Tool('double')"


def test_without_options_a_tool_is_a_utility_for_models_in_both_modes():
    for made in (tool(name="x")(lambda: None), Tool("x")):
        spec = made.spec
        assert (spec.category, spec.exposure, spec.modes) == (Category.UTILITY, Exposure.MODEL, ("text", "voice"))
        assert spec.policy == ToolPolicy()


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (inspect.Parameter.empty, {}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - the old spelling too
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (datetime, {"type": "string", "format": "date-time"}),
        (
            Annotated[int, Field(ge=1, description="How many.")],
            {"type": "integer", "minimum": 1, "description": "How many."},
        ),
        (Colour, {"$ref": "#/$defs/Colour"}),
        (list[Point], {"type": "array", "items": {"$ref": "#/$defs/Point"}}),
        (Options | None, {"anyOf": [{"$ref": "#/$defs/Options"}, {"type": "null"}]}),
        (Annotated[Options, Field(description="How.")], {"$ref": "#/$defs/Options", "description": "How."}),
        (
            dict[str, list[Options]],
            {"type": "object", "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/Options"}}},
        ),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_annotations_become_json_schema(annotation, schema):
    def function(value): ...

    if annotation is not inspect.Parameter.empty:
        function.__annotations__["value"] = annotation
    assert properties(function)["value"] == schema


def test_nested_types_share_definitions_without_titles():
    @tool
    def visit(home: Address, work: Address, colour: Colour = Colour.RED, options: Options | None = None): ...

    assert visit.spec.parameters["properties"]["colour"] == {"$ref": "#/$defs/Colour", "default": "red"}
    assert visit.spec.parameters["$defs"] == snapshot(
        {
            "Address": {
                "description": "Where somebody lives.",
                "properties": {
                    "street": {"type": "string"},
                    "title": {"default": "home", "description": "What it is called.", "type": "string"},
                },
                "required": ["street"],
                "type": "object",
            },
            "Colour": {"enum": ["red", "blue"], "type": "string"},
            "Options": {
                "properties": {"loud": {"type": "boolean"}, "at": {"format": "date", "type": "string"}},
                "type": "object",
            },
        }
    )


def test_a_schema_of_plain_types_has_no_definitions():
    @tool
    def plain(text: str): ...

    assert "$defs" not in plain.spec.parameters


def test_keyword_arguments_allow_additional_properties():
    @tool
    def anything(first: int, **rest: Any): ...

    assert "additionalProperties" not in anything.spec.parameters
    assert anything.validator.is_valid({"first": 1, "second": 2})
    assert anything.handler().convert is None


def test_a_field_gives_alias_default_and_description():
    @tool
    def travel(
        origin: Annotated[str, Field(alias="from")],
        to: str = Field(description="Where to."),
        stops: list[str] = Field(default_factory=list),  # noqa: B008 - how pydantic's users write it
        speed: Annotated[int, Field(gt=0)] = 5,
    ):
        return origin, to, stops, speed

    assert travel.spec.parameters == snapshot(
        {
            "type": "object",
            "properties": {
                "from": {"type": "string"},
                "to": {"type": "string", "description": "Where to."},
                "stops": {"type": "array", "items": {"type": "string"}, "default": []},
                "speed": {"type": "integer", "exclusiveMinimum": 0, "default": 5},
            },
            "required": ["from", "to"],
            "additionalProperties": False,
        }
    )
    convert = travel.handler().convert
    first, second = convert({"from": "a", "to": "b"}), convert({"from": "a", "to": "b"})
    assert first == {"origin": "a", "to": "b", "stops": []}
    assert first["stops"] is not second["stops"]


def test_arguments_are_converted_to_what_the_function_asks_for():
    @tool
    def everything(
        text: str, home: Address, points: list[Point], colour: Colour, when: datetime, options: Options, tags: set[str]
    ): ...

    given = {
        "text": "5",
        "home": {"street": "Main"},
        "points": [{"x": 1}],
        "colour": "blue",
        "when": "2026-01-02T03:04:05Z",
        "options": {"at": "2026-01-02"},
        "tags": ["a", "b"],
    }
    assert everything.validator.is_valid(given)
    assert everything.handler().convert(given) == {
        "text": "5",
        "home": Address(street="Main"),
        "points": [Point(1)],
        "colour": Colour.BLUE,
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "options": {"at": date(2026, 1, 2)},
        "tags": {"a", "b"},
    }
    assert given["colour"] == "blue"


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        (datetime, "yesterday", ("value",)),
        (list[Point], [{"x": 1}, {"x": "one"}], ("value", 1, "x")),
        (Point | None, {"x": "one"}, ("value", "x")),
        (Point | Colour, {"x": "one"}, ("value", "x")),
        (Annotated[str, AfterValidator(lambda text: int(text) and text)], "none", ("value",)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_cannot_be_converted_is_named_by_its_path(annotation, value, path):
    def function(value): ...

    function.__annotations__["value"] = annotation
    with pytest.raises(ArgumentFault) as caught:
        tool(function).handler().convert({"value": value})
    assert caught.value.path == path
    assert caught.value.message


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        int | None,
        list[dict[str, float]],
        Literal["a", 1] | None,
        Annotated[str, Field(min_length=2, pattern="^a")],
        Any,
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_plain_arguments_need_no_conversion(annotation):
    def function(value): ...

    function.__annotations__["value"] = annotation
    assert tool(function).handler().convert is None


def test_a_recursive_type_is_declared_and_validated():
    @tool
    def plant(tree: Node): ...

    assert plant.validator.is_valid({"tree": {"children": [{"children": []}]}})
    assert not plant.validator.is_valid({"tree": {"children": [1]}})


def test_only_a_named_shape_becomes_the_result_schema():
    async def shaped() -> Booking: ...
    def modelled() -> Address: ...
    def recursive() -> Node: ...
    def loose() -> dict: ...
    async def streamed() -> typing.AsyncIterator[Booking]:
        yield {"booked": True}

    assert tool(shaped).spec.result == {
        "properties": {"booked": {"type": "boolean"}},
        "required": ["booked"],
        "type": "object",
    }
    assert tool(modelled).spec.result["required"] == ["street"]
    assert tool(recursive).result_validator.is_valid({"children": [{"children": []}]})
    assert tool(loose).spec.result is None
    assert tool(streamed).spec.result is None
    assert tool(result=False)(shaped).spec.result is None
    assert tool(result={"type": "object"})(loose).spec.result == {"type": "object"}


def test_each_kind_of_function_is_recognised():
    def plain(): ...
    async def waits(): ...
    async def streams():
        yield 1

    class Callable:
        async def __call__(self, text): ...

    kinds = {"plain": plain, "waits": waits, "streams": streams}
    assert {name: tool(function).handler().kind for name, function in kinds.items()} == {
        "plain": "sync",
        "waits": "async",
        "streams": "stream",
    }
    assert Tool("x", handler=Callable()).handler().kind == "async"
    assert Tool("x", handler=functools.partial(waits)).handler().kind == "async"
    assert Tool("x", handler=AsyncMock()).handler().kind == "async"
    assert Tool("x", handler=MagicMock()).handler().kind == "sync"
    assert Tool("x", handler=Desk().ask).handler().kind == "sync"
    assert Tool("x", handler=print).handler().kind == "sync"
    assert asyncio.run(tool(waits)()) is None


class Desk:
    def ask(self, question: str): ...


@pytest.mark.parametrize(
    ("function", "reason", "word"),
    [
        (lambda *rest: rest, "handler_signature", "*rest"),
        (lambda text, /: text, "handler_signature", "'text'"),
        (Desk.ask, "handler_signature", "method"),
        (lambda: (yield), "handler_signature", "generator"),
    ],
)
def test_a_function_that_cannot_be_called_by_name_is_refused(function, reason, word):
    with pytest.raises(RegistryError) as caught:
        tool(name="odd")(function)
    assert caught.value.reason == reason
    assert word in caught.value.message


def test_a_default_without_json_form_is_not_shown():
    nothing = object()

    def function(value: Any = nothing):
        return value is nothing

    assert properties(function) == {"value": {}}
    assert tool(function)() is True


def test_a_return_annotation_that_cannot_be_resolved_is_no_result_schema():
    def function() -> "Nowhere": ...  # noqa: F821 - what the test is about

    assert tool(function).spec.result is None


def test_a_schema_given_to_the_decorator_is_taken_as_it_is():
    @tool(parameters={"type": "object", "properties": {"text": {"type": "string", "maxLength": 5}}})
    def echo(text):
        """Echo."""

    assert echo.spec.parameters["properties"] == {"text": {"type": "string", "maxLength": 5}}
    assert echo.spec.description == "Echo."


def test_a_bound_method_is_a_function():
    assert properties(Desk().ask) == {"question": {"type": "string"}}


@pytest.mark.parametrize(
    "annotation",
    ["Nowhere", Desk, typing.Callable[[], int]],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_annotation_without_json_form_is_refused(annotation):
    def function(value): ...

    function.__annotations__["value"] = annotation
    with pytest.raises(RegistryError) as caught:
        tool(function)
    assert caught.value.reason == "invalid_annotation"
    assert "value" in caught.value.message
    assert caught.value.hint


def test_annotations_in_quotes_are_resolved():
    local = Literal["here"]

    def function(point: "Point", place: "local", context: "Nowhere" = None):  # noqa: F821 - what the test is about
        return local

    assert properties(function) == {"point": {"$ref": "#/$defs/Point"}, "place": {"type": "string", "const": "here"}}


@pytest.mark.parametrize(
    ("options", "reason", "hint"),
    [
        ({"catgory": "action"}, "unknown_option", "'category'"),
        ({"softms": 5}, "unknown_option", "'soft_ms'"),
        ({"zzz": 5}, "unknown_option", "Known options"),
        ({"category": "reading"}, "invalid_option", ""),
        ({"exposure": "secret"}, "invalid_option", ""),
        ({"description": "\ud800"}, "invalid_option", ""),
        ({"description": 5}, "invalid_option", ""),
        ({"modes": ("text", "mime")}, "invalid_option", ""),
        ({"modes": ()}, "invalid_option", ""),
        ({"policy": 5}, "invalid_policy", ""),
        ({"policy": {"soft": 5}}, "invalid_policy", ""),
        ({"soft_ms": "fast"}, "invalid_policy", ""),
        ({"budget": [{"name": "x"}]}, "invalid_policy", ""),
        ({"supplied": ["who"]}, "supplied_not_declared", ""),
        ({"ground": {"who": {}}}, "ground_not_declared", ""),
        ({"scope": ["who"]}, "scope_not_declared", ""),
        ({"budget": [{"name": "x", "max": 1, "by": "who"}]}, "budget_not_declared", ""),
        ({"approval_text": "Ask {who}"}, "approval_text_not_declared", ""),
        ({"approval_text": "Ask {"}, "invalid_approval_text", ""),
        ({"approval_text": " "}, "invalid_approval_text", ""),
        ({"approval_text": "x" * 501}, "invalid_approval_text", ""),
        ({"approval_text": "\ud800"}, "invalid_option", ""),
        ({"approval_text": 5}, "invalid_option", ""),
        ({"policy": ToolPolicy(variants=(Variant(name="b"),))}, "variant_without_handler", ""),
        ({"parameters": {"type": "array"}}, "invalid_parameters", ""),
        ({"parameters": {"properties": {"a": {"type": "strin"}}}}, "invalid_parameters", ""),
        ({"parameters": {"$ref": "https://example.com/schema.json"}}, "invalid_parameters", ""),
        ({"parameters": {"properties": {"a": {"pattern": "("}}}}, "invalid_parameters", ""),
        ({"parameters": {"default": float("nan")}}, "invalid_parameters", ""),
        ({"parameters": [1]}, "invalid_parameters", ""),
        ({"result": {"type": 5}}, "invalid_result", ""),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_wrong_option_is_refused_with_its_reason(options, reason, hint):
    with pytest.raises(RegistryError) as caught:
        Tool("lookup", handler=lambda **rest: rest, **options)
    assert caught.value.reason == reason
    assert hint in caught.value.hint
    assert "lookup" in caught.value.message


@pytest.mark.requirement("B-089", "B-090", "B-092")
def test_policy_fields_may_be_given_flat():
    made = Tool(
        "pay",
        handler=lambda amount, actor: None,
        category="action",
        confirm=True,
        parameters={"properties": {"amount": {"type": "number"}, "actor": {"type": "string"}}},
        policy=ToolPolicy(soft_ms=10, hard_ms=20),
        hard_ms=30,
        budget=[{"name": "money", "max": 5}, Budget(name="calls", max=1)],
        scope=["amount"],
        ground={"amount": Ground(by="value")},
        supplied=("actor",),
        gates=["paying", {"flag": "night", "answer": {"later": True}}],
        empty_field="found",
        barge_in="cancel",
        repeatable=True,
        blocking=False,
        spill=True,
        commits=True,
    )
    assert made.spec.policy == ToolPolicy(
        soft_ms=10,
        hard_ms=30,
        budget=(Budget(name="money", max=5), Budget(name="calls", max=1)),
        scope=("amount",),
        ground={"amount": Ground(by="value")},
        supplied=("actor",),
        gates=("paying", Gate(flag="night", answer={"later": True})),
        empty_field="found",
        barge_in=BargeIn.CANCEL,
        repeatable=True,
        blocking=False,
        spill=True,
        commits=True,
    )
    assert made.spec.requires_confirmation


@pytest.mark.parametrize(
    ("parameters", "handler", "word"),
    [
        ({"properties": {"a": {}}}, lambda: None, "'a'"),
        ({"properties": {}, "additionalProperties": False}, lambda a: None, "'a'"),
        ({"properties": {"context": {}}}, lambda context: None, "'context'"),
    ],
)
def test_a_handler_that_cannot_take_the_declared_arguments_is_refused(parameters, handler, word):
    with pytest.raises(RegistryError) as caught:
        Tool("lookup", parameters=parameters, handler=handler)
    assert caught.value.reason == "handler_signature"
    assert word in caught.value.message


@pytest.mark.parametrize(
    ("parameters", "handler"),
    [
        ({"properties": {}}, lambda query: None),
        ({"properties": {"a-b": {}, "from": {}}}, lambda **rest: None),
        ({"properties": {"a": {}}}, lambda *args, **kwargs: None),
        ({"properties": {"context": {}}}, lambda **rest: None),
        ({"allOf": [{"properties": {"a": {}}}]}, lambda a: None),
        ({"properties": {"a": {}}, "required": ["a"]}, lambda a, b=None: None),
    ],
)
def test_a_handler_that_can_take_the_declared_arguments_is_accepted(parameters, handler):
    assert Tool("lookup", parameters=parameters, handler=handler).handler().kind == "sync"


@pytest.mark.requirement("C-026")
def test_a_supplied_argument_that_the_function_does_not_ask_for_is_left_out():
    made = Tool(
        "note",
        parameters={"properties": {"text": {}, "actor": {}}},
        supplied=("actor",),
        handler=lambda text: text,
    )
    assert made.handler().convert({"text": "a", "actor": "b"}) == {"text": "a"}


def test_variants_and_reconcile_are_part_of_the_handler():
    async def other(text: str): ...
    def look(text, context): ...

    made = Tool(
        "say",
        parameters={"properties": {"text": {}}},
        handler=lambda text: text,
        reconcile=look,
        variants={"new": other},
        policy=ToolPolicy(variants=(Variant(name="new", percent=10),)),
    )
    handler = made.handler()
    assert handler.reconcile is look
    assert handler.variants["new"].kind == "async"
    assert made.spec.policy.variants == (Variant(name="new", percent=10),)
    assert Tool("say", handler=lambda: 1, variants={"new": lambda: 2}).spec.policy.variants == (Variant(name="new"),)


def test_a_tool_without_handler_is_a_declaration_for_somebody_else():
    made = Tool("client_tool", description="Runs elsewhere.", parameters=None)
    assert made.spec.parameters == {"type": "object", "properties": {}}
    assert made.spec.handler_path == ""
    with pytest.raises(RegistryError) as caught:
        made.handler()
    assert caught.value.reason == "no_handler"


def test_a_clients_schema_is_judged_when_it_is_first_needed():
    made = Tool("client_tool", parameters={"type": "object", "properties": {"a": {"type": "strin"}}})
    with pytest.raises(RegistryError) as caught:
        _ = made.validator
    assert caught.value.reason == "invalid_parameters"


def test_a_schema_of_another_draft_keeps_its_word_about_itself():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }
    made = Tool("zod", parameters=schema)
    assert made.spec.parameters == schema
    assert not made.validator.is_valid({"a": 1})


def test_the_author_cannot_change_a_schema_afterwards():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    made = Tool("lookup", parameters=schema)
    schema["properties"]["b"] = {}
    assert "b" not in made.spec.parameters["properties"]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(x+x+)+y", "^(?=(a+)+b)a"])
def test_a_hostile_pattern_takes_one_pass_over_the_text(pattern):
    made = Tool("lookup", parameters={"properties": {"a": {"type": "string", "pattern": pattern}}})
    assert not made.validator.is_valid({"a": "a" * 50_000 + "x" * 50_000 + "!"})


@pytest.mark.parametrize("pattern", ["^(?=(a+))\\1+b$", "(x+x+)+y(?!z)", "(?<=a)b", "(a)\\1"])
def test_a_pattern_that_needs_backtracking_is_refused(pattern):
    with pytest.raises(SchemaTooComplex) as refused:
        Tool("lookup", parameters={"properties": {"a": {"type": "string", "pattern": pattern}}})
    assert refused.value.measure == "patternSyntax"


def test_formats_are_not_asserted():
    made = Tool("lookup", parameters={"properties": {"a": {"type": "string", "format": "date"}}})
    assert made.validator.is_valid({"a": "tomorrow"})


@pytest.mark.parametrize("name", ["a", "a.b-c_d", "x" * 128, "mcp:server:tool", "工具", "9lives", "x" * 256])
def test_a_printable_name_is_accepted(name):
    assert Tool(name).tool_id == name


@pytest.mark.parametrize("name", ["", " ", "a b", "a\n", "a\tb", "a\u00a0b", "\x00", "\ud800", "x" * 257, None, 5])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(RegistryError) as caught:
        Tool(name)
    assert caught.value.reason == "invalid_name"


def test_a_guide_gives_summary_and_documentation():
    guide = "# t\nShort.\nLonger.\n\n## Parameters\n"
    made = Tool("t", guide=guide)
    assert (made.spec.summary, made.spec.description, made.spec.documentation) == ("Short.", "Short. Longer.", guide)


@pytest.mark.requirement("B-134")
def test_the_content_hash_follows_what_is_declared():
    first = Tool("t", description="a", handler=lambda: 1)
    assert first.content_hash == Tool("t", description="a").content_hash
    others = [Tool("u", description="a"), Tool("t", description="b"), Tool("t", description="a", soft_ms=1)]
    assert len({first.content_hash, *(other.content_hash for other in others)}) == 4


@pytest.mark.requirement("B-003")
def test_importing_the_registry_brings_in_no_schema_library_and_no_vendor_sdk():
    heavy = "{'pydantic', 'jsonschema_rs', 'openai', 'anthropic', 'google', 'groundwire.runtime', 'groundwire.store'}"
    code = f"import sys, groundwire.registry; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        ({"budget": [{"name": "b", "max": -1}]}, "budget[0].max: it must be a number at least 0"),
        ({"budget": [{"name": "b", "max": math.nan}]}, "budget[0].max: it must be a number at least 0"),
        ({"hardMs": 0}, "hardMs: it must be a whole number at least 1"),
        ({"softMs": -1}, "softMs: it must be a whole number at least 1"),
        ({"budget": [{"name": "b", "max": 1, "unit": "callz"}]}, "budget[0].unit: 'callz' is not one of calls"),
    ],
)
def test_a_policy_that_cannot_mean_anything_is_refused_with_what_is_allowed(policy, fault):
    with pytest.raises(RegistryError) as caught:
        Tool("act", description="A.", handler=lambda: 1, policy=policy)
    assert caught.value.reason == "invalid_policy"
    assert fault in caught.value.message


@pytest.mark.parametrize("policy", [{"budget": [{"name": "b", "max": 0}]}, {"hardMs": 1}, {"softMs": 1}])
def test_the_least_that_a_policy_may_ask_for_is_taken(policy):
    Tool("act", description="A.", handler=lambda: 1, policy=policy)


def test_a_misspelt_policy_gets_the_name_that_was_perhaps_meant():
    with pytest.raises(RegistryError, match="hardMS: there is no such name") as caught:
        Tool("act", description="A.", handler=lambda: 1, policy={"hardMS": 5})
    assert "hardMs" in caught.value.hint


def test_an_approval_text_is_content_and_a_tool_without_one_keeps_its_version():
    def versions(**options):
        return Registry([Tool("t", handler=lambda a: a, parameters={"properties": {"a": {}}}, **options)]).version

    assert versions(approval_text="x" * 500) != versions(approval_text="Do {a}") != versions()
    assert versions() == "1.0.7793212d"  # as it was before there were any
