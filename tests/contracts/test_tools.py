import pytest

from groundwire.contracts.tools import (
    BargeIn,
    Category,
    ToolPolicy,
    ToolSpec,
    barge_in_of,
    model_parameters,
    wire_name,
)

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "request_id": {"type": "string"}},
    "required": ["text", "request_id"],
    "additionalProperties": False,
}


def spec(**fields):
    return ToolSpec(tool_id="t", wire_name="t", **fields)


@pytest.mark.requirement("X-01", "C-025")
@pytest.mark.parametrize(
    ("tool_id", "expected"),
    [
        ("kb_search", "kb_search"),
        ("marketplace.search_vendors", "marketplace__search_vendors"),
        ("a.b.c", "a__b__c"),
        ("has__already", "has__already"),
    ],
)
def test_dots_become_double_underscores_on_the_wire(tool_id, expected):
    assert wire_name(tool_id) == expected
    assert "." not in wire_name(tool_id)


@pytest.mark.requirement("X-23")
def test_a_model_does_not_see_what_the_executor_supplies():
    view = model_parameters(spec(parameters=SCHEMA, policy=ToolPolicy(supplied=("request_id",))))
    assert view == {**SCHEMA, "properties": {"text": {"type": "string"}}, "required": ["text"]}
    assert SCHEMA["required"] == ["text", "request_id"]


def test_required_goes_when_nothing_is_left_of_it():
    view = model_parameters(spec(parameters=SCHEMA, policy=ToolPolicy(supplied=("request_id", "text"))))
    assert view == {"type": "object", "properties": {}, "additionalProperties": False}


def test_without_supplied_arguments_the_schema_passes_as_it_is():
    assert model_parameters(spec(parameters=SCHEMA)) is SCHEMA


@pytest.mark.parametrize(
    ("category", "declared", "expected"),
    [
        (Category.ACTION, None, BargeIn.FINISH),
        (Category.RETRIEVAL, None, BargeIn.CANCEL),
        (Category.UTILITY, None, BargeIn.CANCEL),
        (Category.ACTION, BargeIn.CANCEL, BargeIn.CANCEL),
        (Category.RETRIEVAL, BargeIn.FINISH, BargeIn.FINISH),
    ],
)
def test_an_interruption_lets_actions_finish_unless_they_say_otherwise(category, declared, expected):
    assert barge_in_of(spec(category=category, policy=ToolPolicy(barge_in=declared))) is expected
