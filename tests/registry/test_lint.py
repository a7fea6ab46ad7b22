import pytest

from groundwire.registry import Registry, Tool, tool
from groundwire.registry.lint import CODES, lint

TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "What to say."}}}
GUIDE = "# t\nIt does.\n\n## Parameters\n- text (optional): what to say\n\n## Examples\n**One:**\n```json\n# not a heading\n```\n"


def pattern(text):
    return {"type": "object", "properties": {"text": {"type": "string", "description": "W.", "pattern": text}}}


def codes(*tools: Tool) -> list[str]:
    return [advice.code for advice in lint(Registry(tools))]


def test_a_careful_tool_gets_no_advice():
    assert lint(Registry([Tool("echo", description="Echo.", parameters=TEXT, guide=GUIDE)])) == []


@pytest.mark.requirement("C-025", "C-026", "B-071")
@pytest.mark.parametrize(
    ("code", "name", "options"),
    [
        ("name_style", "sendNote", {}),
        ("name_dots", "shop.pay_bill", {}),
        ("missing_description", "echo", {"description": ""}),
        ("missing_parameter_description", "echo", {"parameters": {"properties": {"text": {"type": "string"}}}}),
        (
            "long_parameter_description",
            "echo",
            {"parameters": {"properties": {"a": {"type": "string", "description": "x" * 501}}}},
        ),
        (
            "context_argument",
            "echo",
            {"parameters": {"properties": {"user_id": {"type": "string", "description": "Who."}}}},
        ),
        (
            "context_argument",
            "echo",
            {"parameters": {"properties": {"sessionId": {"type": "string", "description": "Who."}}}},
        ),
        ("unconfirmed", "delete_file", {"category": "action"}),
        ("unconfirmed", "shop__refund_order", {"category": "action"}),
        ("blocking_unsaid", "echo", {"category": "retrieval", "handler": lambda text: text}),
        ("barge_in_ignored", "echo", {"barge_in": "cancel"}),
        ("ground_value_ignored", "echo", {"ground": {"text": {"by": "value", "value": True}}}),
        ("summary_disagrees", "echo", {"guide": GUIDE.replace("It does", "## Summary\nIt does")}),
        ("guide_sections", "echo", {"guide": "# t\nIt does.\n## Parameters\n- text: x"}),
        ("guide_sections", "echo", {"guide": GUIDE.replace("## Parameters", "## Arguments")}),
        ("guide_parameter_unknown", "echo", {"guide": GUIDE.replace("- text", "- text (optional): x\n- `words`")}),
        ("guide_parameter_missing", "echo", {"guide": GUIDE.replace("- text (optional): what to say", "")}),
        ("guide_parameter_required", "echo", {"guide": GUIDE.replace("optional", "required")}),
        ("description_length", "echo", {"description": "x" * 2000}),
        ("name_length", "x" * 100, {}),
    ],
)
def test_each_weakness_gets_its_advice(code, name, options):
    made = Tool(name, **{"description": "Echo.", "parameters": TEXT, **options})
    assert codes(made) == [code]
    assert code not in CODES or lint(Registry([made]))[0].severity == CODES[code][0]


def test_an_odd_name_is_a_warning():
    assert "name_odd" in codes(Tool("a:b", description="Odd."))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("delete_file", {"category": "action", "confirm": True}),
        ("delete_file", {"category": "utility"}),
        ("undelete", {"category": "action"}),
        ("echo", {"category": "retrieval", "handler": lambda text: text, "blocking": False}),
        ("echo", {"parameters": {"properties": {"user_id": {}}}, "supplied": ["user_id"]}),
    ],
)
def test_what_was_said_already_is_not_advised_again(name, options):
    assert codes(Tool(name, **{"description": "Echo.", "parameters": TEXT, **options})) == []


def test_async_retrievals_need_no_word_about_blocking():
    @tool(category="retrieval")
    async def find():
        """Find it."""

    assert codes(find) == []


def test_a_folder_is_linted_with_its_problems_as_errors(tools):
    tools.add("echo", category="retrieval")
    tools.add("other", toolId="renamed")
    tools.add("bad", schema="{")
    found = [(advice.tool, advice.code, advice.severity) for advice in lint(tools.path)]
    assert found == [
        ("bad", "invalid_json", "error"),
        ("echo", "blocking_unsaid", "warning"),
        ("renamed", "folder_name", "warning"),
    ]


def test_a_built_registry_gets_the_same_advice_as_its_folder(tools):
    tools.add("echo", category="retrieval", guide="No heading.\nTwo lines.")
    registry = Registry.build(tools.path)
    loaded = Registry.from_artifact(registry.artifact(), registry.base_path)
    assert {advice.code for advice in lint(loaded)} == {"blocking_unsaid", "summary_disagrees", "guide_sections"}
    assert lint(loaded) == lint(registry)
    assert {advice.code for advice in lint(tools.path)} == {advice.code for advice in lint(loaded)}


@pytest.mark.parametrize("text", [r"^\d{4}-\d{2}$", r"^(a+)+$", r"(?i)^[^\s@]+@[^\s@]+$", r"\p{L}+"])
def test_a_pattern_that_takes_one_pass_needs_no_advice(text):
    assert codes(Tool("echo", description="Echo.", parameters=pattern(text))) == []


def test_words_that_only_look_like_a_pattern_need_no_advice():
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "description": "W.", "enum": ["(?=a)"]}}}
    assert codes(Tool("echo", description="Echo.", parameters=schema)) == []


@pytest.mark.parametrize("category", ["action", "retrieval"])
def test_flags_that_are_left_alone_need_no_advice(category):
    assert codes(Tool("echo", description="Echo.", parameters=TEXT, category=category, blocking=False)) == []
