import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from groundwire.contracts.errors import RegistryError
from groundwire.contracts.tools import Budget, Category, Exposure, Gate, Ground, ToolPolicy, Variant
from groundwire.registry import Registry
from groundwire.registry.folder import REASONS, read_tools

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.mark.requirement("B-029", "B-030", "B-031", "B-063", "B-082", "B-097")
def test_a_folder_of_three_files_is_a_tool(tools):
    tools.add(
        "shop__find",
        toolId="shop.find",
        category="retrieval",
        modes=["voice"],
        requiresConfirmation=True,
        exposure="internal",
        result={"type": "object"},
        policy={"softMs": 5, "emptyField": "said"},
    )
    registry = Registry.build(tools.path)
    assert registry.quarantined == ()
    (tool,) = registry
    spec = tool.spec
    assert (spec.tool_id, spec.wire_name) == ("shop.find", "shop__find")
    assert (spec.category, spec.modes, spec.exposure) == (Category.RETRIEVAL, ("voice",), Exposure.INTERNAL)
    assert spec.requires_confirmation
    assert (spec.summary, spec.description) == ("Say what was said.",) * 2
    assert spec.documentation.startswith("# shop__find\nSay what was said.\n\n## Parameters")
    assert spec.result == {"type": "object"}
    assert spec.policy == ToolPolicy(soft_ms=5, empty_field="said")
    assert spec.handler_path == "tools/shop__find/handler.py"
    assert tool(text="a") == tool.handler().function(text="a") == {"said": "a"}


def test_defaults_are_filled_in(tools):
    tools.add("echo")
    (tool,) = Registry.build(tools.path)
    spec = tool.spec
    assert (spec.modes, spec.requires_confirmation, spec.exposure) == (("text", "voice"), False, Exposure.MODEL)
    assert (spec.result, spec.policy) == (None, ToolPolicy())


def test_every_policy_field_can_be_written_in_schema_json(tools):
    policy = ToolPolicy(
        soft_ms=1,
        hard_ms=2,
        budget=(Budget(name="b", by="text", max=1.5, unit="money", category=Category.ACTION),),
        scope=("text",),
        ground={"text": Ground(by="value", speaker="bot", optional=True, value=("text",))},
        supplied=("text",),
        gates=("flag", Gate(flag="other", answer=[1])),
        empty_field="said",
        repeatable=True,
        blocking=True,
        background=True,
        commits=True,
        spill=True,
        variants=(Variant(name="new", percent=5.0, users=("u",), organisations=("o",), handler="execute"),),
        barge_in="finish",
    )
    tools.add("echo", policy=msgspec.to_builtins(policy))
    registry = Registry.build(tools.path)
    assert registry.quarantined == ()
    assert registry.find("echo").spec.policy == policy


def test_the_published_schema_and_the_policy_have_the_same_fields(repository):
    schema = json.loads((repository / "src/groundwire/registry/schemas/tool-1.0.0.json").read_text())
    structs = {"policy": ToolPolicy, "budget": Budget, "ground": Ground, "gate": Gate, "variant": Variant}
    for name, struct in structs.items():
        fields = {field.encode_name: field.required for field in msgspec.structs.fields(struct)}
        assert set(schema["$defs"][name]["properties"]) == set(fields), name
        assert set(schema["$defs"][name].get("required", [])) == {each for each, needed in fields.items() if needed}, (
            name
        )


@pytest.mark.requirement("B-070")
@pytest.mark.parametrize("guide", ["Just this.", "# x\n> Quoted.\n\n# Odd\n\n### Sections\n", "\ufeff# x\r\nLine.\r\n"])
def test_a_guide_needs_no_particular_form(tools, guide):
    tools.add("echo", guide=guide)
    assert len(Registry.build(tools.path)) == 1


@pytest.mark.requirement("B-064", "B-065", "B-066", "B-132", "B-192")
@pytest.mark.parametrize(
    ("reason", "parts"),
    [
        ("missing_schema", {"schema": None}),
        ("invalid_json", {"schema": "{"}),
        ("invalid_json", {"schema": b"\xff"}),
        ("invalid_json", {"schema": "[" * 200 + "]" * 200}),
        ("schema_shape", {"schema": "[]"}),
        ("schema_shape", {"schema": "{}"}),
        ("schema_shape", {"category": "reading"}),
        ("schema_shape", {"modes": []}),
        ("schema_shape", {"requiresConfirmation": "yes"}),
        ("schema_shape", {"colour": "red"}),
        ("schema_shape", {"policy": {"softMs": "fast"}}),
        ("schema_shape", {"policy": {"speed": 5}}),
        ("schema_shape", {"parameters": {"type": "array"}}),
        ("schema_shape", {"parameters": {"properties": {}}}),
        ("invalid_name", {"toolId": "two words"}),
        ("invalid_name", {"toolId": "tab\t"}),
        ("invalid_parameters", {"parameters": {"type": "object", "properties": {"text": {"type": "txt"}}}}),
        ("invalid_parameters", {"parameters": {"type": "object", "required": "text"}}),
        ("invalid_parameters", {"parameters": {"type": "object", "$ref": "https://example.com/a.json"}}),
        ("invalid_parameters", {"parameters": {"type": "object", "$ref": "#/$defs/none"}}),
        ("invalid_result", {"result": {"type": "txt"}}),
        ("missing_guide", {"guide": None}),
        ("invalid_guide", {"guide": b"# x\n\xff\n"}),
        ("empty_guide", {"guide": "# heading\n\n## only\n"}),
        ("empty_guide", {"guide": ""}),
        ("missing_handler", {"handler": None}),
        ("handler_syntax", {"handler": "def execute(text:\n"}),
        ("handler_syntax", {"handler": "return 1\ndef execute(text): ..."}),
        ("handler_syntax", {"handler": b"def execute(text): ...\0"}),
        ("handler_syntax", {"handler": "# -*- coding: klingon -*-\n"}),
        ("no_execute", {"handler": ""}),
        ("no_execute", {"handler": "class Tool:\n    def execute(self, text): ...\n"}),
        ("no_execute", {"handler": "def run(text): ...\n"}),
        ("handler_signature", {"handler": "def execute(): ...\n"}),
        ("handler_signature", {"handler": "def execute(text, more): ...\n"}),
        ("handler_signature", {"handler": "def execute(text, /): ...\n"}),
        ("handler_signature", {"handler": "def execute(text):\n    yield text\n"}),
        ("variant_without_handler", {"policy": {"variants": [{"name": "new"}]}}),
        ("supplied_not_declared", {"policy": {"supplied": ["actor"]}}),
        ("ground_not_declared", {"policy": {"ground": {"actor": {}}}}),
        ("ground_not_declared", {"policy": {"ground": {"text": {"value": ["price"]}}}}),
        ("schema_shape", {"policy": {"ground": {"text": {"value": "price"}}}}),
        ("scope_not_declared", {"policy": {"scope": ["actor"]}}),
        ("budget_not_declared", {"policy": {"budget": [{"name": "x", "max": 1, "by": "actor"}]}}),
        ("approval_text_not_declared", {"approvalText": "Send {texts}"}),
        ("approval_text_not_declared", {"approvalText": "Send {text.upper}"}),
        ("invalid_approval_text", {"approvalText": "Send {text"}),
        ("invalid_approval_text", {"approvalText": "Send {}"}),
        ("invalid_approval_text", {"approvalText": "Send {text!r}"}),
        ("invalid_approval_text", {"approvalText": "Send {text:>100000000}"}),
        ("invalid_approval_text", {"approvalText": "Send\u202e {text}"}),
        ("invalid_approval_text", {"approvalText": "Send\n{text}"}),
        ("schema_shape", {"approvalText": ""}),
        ("schema_shape", {"approvalText": "x" * 501}),
    ],
    ids=str,
)
def test_a_bad_folder_is_one_named_problem_and_the_rest_builds(tools, reason, parts):
    tools.add("bad", **parts)
    tools.add("good")
    found = read_tools(tools.path)

    assert [tool.tool_id for tool in found.tools] == ["good"]
    (problem,) = found.problems
    assert (problem.tool, problem.reason) == ("bad", reason)
    assert problem.message
    assert problem.path.startswith("bad")
    assert problem.reason in REASONS


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"colour": "red"}, "'colour'"), ({"modes": []}, "modes"), ({"category": "reading"}, "category")],
)
def test_a_wrong_member_is_named_however_many_arguments_there_are(tools, wrong, named):
    many = {f"argument_{number}": {"type": "string", "description": "One of many."} for number in range(400)}
    tools.add("bad", parameters={"type": "object", "properties": many}, **wrong)
    (problem,) = read_tools(tools.path).problems
    assert problem.reason == "schema_shape"
    assert named in problem.message


@pytest.mark.parametrize(
    "handler",
    [
        "async def execute(text): ...\n",
        "async def execute(text):\n    yield text\n",
        "def execute(**kwargs): ...\n",
        "def execute(text, context): ...\n",
        "def execute(text, extra=None, *, context=None): ...\n",
        "def execute(*args, **kwargs): ...\n",
        "from .inner import execute\n",
        "from .inner import run as execute\n",
        "execute = lambda text: text\n",
        "execute: object = lambda text: text\n",
        "try:\n    import nothing\nexcept ImportError:\n    def execute(text): ...\n",
        "if True:\n    def execute(text): ...\n",
        "def wrap(f): return f\n@wrap\ndef execute(anything, /): ...\n",
        "import pydantic\ndef execute(words: str = pydantic.Field(alias='text')): ...\n",
        "raise RuntimeError('never run while building')\ndef execute(text): ...\n",
        "import re\nre.compile('\\d')\ndef execute(text): ...\n",
    ],
)
def test_execute_may_be_defined_in_many_ways_and_is_not_run(tools, handler):
    tools.add("echo", handler=handler)
    found = read_tools(tools.path)
    assert found.problems == ()


@pytest.mark.requirement("X-01")
def test_tools_that_share_a_wire_name_are_both_quarantined(tools):
    tools.add("one", toolId="a.b")
    tools.add("two", toolId="a__b")
    tools.add("three")
    found = read_tools(tools.path)
    assert [tool.tool_id for tool in found.tools] == ["three"]
    assert [(problem.tool, problem.reason, problem.path) for problem in found.problems] == [
        ("a.b", "wire_name_collision", "one/schema.json"),
        ("a__b", "wire_name_collision", "two/schema.json"),
    ]
    assert all("a.b" in problem.message and "a__b" in problem.message for problem in found.problems)


def test_folders_of_one_tool_id_are_both_quarantined(tools):
    tools.add("one", toolId="same")
    tools.add("two", toolId="same")
    assert [problem.reason for problem in read_tools(tools.path).problems] == ["duplicate_tool_id"] * 2


def test_hidden_and_private_folders_and_loose_files_are_not_tools(tools):
    tools.add("echo")
    for name in ("_core", ".git", "__pycache__"):
        (tools.path / name).mkdir()
    (tools.path / "README.md").write_text("How to add a tool.")
    found = read_tools(tools.path)
    assert [tool.tool_id for tool in found.tools] == ["echo"]
    assert found.problems == ()


def test_an_empty_tools_folder_is_an_empty_registry_and_a_missing_one_is_an_error(tools, tmp_path):
    assert len(Registry.build(tools.path)) == 0
    with pytest.raises(RegistryError) as caught:
        Registry.build(tmp_path / "nowhere")
    assert caught.value.reason == "missing_tools"


def test_a_folder_whose_name_cannot_be_written_is_a_problem(tools):
    tools.add("back\\slash", toolId="fine")
    assert [problem.reason for problem in read_tools(tools.path).problems] == ["invalid_folder"]


def test_a_file_that_is_a_folder_is_unreadable(tools):
    folder = tools.add("echo", guide=None)
    (folder / "guide.md").mkdir()
    assert [problem.reason for problem in read_tools(tools.path).problems] == ["unreadable"]


@pytest.mark.requirement("X-06")
def test_odd_names_and_double_summaries_are_advice_not_problems(tools):
    tools.add("folder", toolId="tool", guide="# tool\n## Summary\nThis.")
    found = read_tools(tools.path)
    assert found.problems == ()
    assert [(advice.tool, advice.code) for advice in found.advice] == [
        ("tool", "folder_name"),
        ("tool", "summary_disagrees"),
    ]


def test_a_handler_imports_its_neighbours_and_not_those_of_another_tool(tools):
    handler = "from .words import WORD\nfrom .inner.more import MORE\ndef execute(): return WORD + MORE\n"
    for name in ("one", "two"):
        files = {"words.py": f"WORD = {name!r}\n", "inner/__init__.py": "", "inner/more.py": "MORE = '!'\n"}
        tools.add(name, handler=handler, parameters={"type": "object"}, files=files)
    registry = Registry.build(tools.path)
    assert [tool() for tool in registry] == ["one!", "two!"]
    assert not list(tools.path.rglob("__pycache__"))


def test_threads_that_meet_at_the_first_call_import_the_handler_once(tools):
    handler = "import itertools\nCOUNT = itertools.count()\ndef execute(text): return next(COUNT)\n"
    tools.add("count", handler=handler)
    registries = [Registry.build(tools.path) for _ in range(8)]
    together = threading.Barrier(len(registries))

    def call(registry):
        together.wait(5)
        return registry.find("count")(text="")

    with ThreadPoolExecutor(len(registries)) as threads:
        assert sorted(threads.map(call, registries)) == list(range(len(registries)))


def test_a_module_is_shared_by_registries_of_the_same_code(tools):
    tools.add("count", handler="SEEN = []\ndef execute(text):\n    SEEN.append(text)\n    return len(SEEN)\n")
    first = Registry.build(tools.path).find("count")
    assert first(text="a") == 1
    (tools.path / "count" / "guide.md").write_text("# count\nBetter words.\n")
    second = Registry.build(tools.path).find("count")
    assert second.content_hash != first.content_hash
    assert second(text="b") == 2


def test_folder_handlers_convert_arguments_by_their_annotations(tools):
    handler = (
        "from __future__ import annotations\nfrom datetime import date\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from nowhere import Context\n"
        "def execute(day: date, odd: Nowhere, context: Context): return day.year\n"
    )
    parameters = {"type": "object", "properties": {"day": {"type": "string"}, "odd": {}}}
    tools.add("year", handler=handler, parameters=parameters)
    bound = Registry.build(tools.path).find("year").handler()
    assert bound.wants_context
    assert bound.function(**bound.convert({"day": "2026-01-02", "odd": 5}), context=None) == 2026


def test_variants_and_reconcile_come_from_the_module(tools):
    handler = (
        "def execute(text): return 1\ndef execute_next_one(text): return 2\n"
        "async def other(text): return 3\ndef reconcile(context): return 4\n"
    )
    variants = [{"name": "next-one"}, {"name": "b", "handler": "other"}]
    tools.add("echo", handler=handler, policy={"variants": variants})
    bound = Registry.build(tools.path).find("echo").handler()
    assert bound.function("") == 1
    assert bound.variants["next-one"].function("") == 2
    assert bound.variants["b"].kind == "async"
    assert bound.reconcile(None) == 4


@pytest.mark.requirement("B-135")
def test_changed_code_is_not_run_under_an_old_version_and_is_run_under_a_new_one(tools):
    folder = tools.add(
        "echo", files={"words.py": "WORD = 1\n"}, handler="from .words import WORD\ndef execute(text): return WORD\n"
    )
    old, pinned = Registry.build(tools.path), Registry.build(tools.path)
    assert old.find("echo")(text="") == 1
    (folder / "words.py").write_text("WORD = 2\n")

    with pytest.raises(RegistryError) as caught:
        pinned.find("echo").handler()
    assert caught.value.reason == "handler_changed"
    assert Registry.build(tools.path).find("echo")(text="") == 2
    assert old.find("echo")(text="") == 1


@pytest.mark.parametrize("path", ["handler.py", "."])
def test_a_handler_that_is_gone_is_named_so(tools, path):
    folder = tools.add("echo")
    tool = Registry.build(tools.path).find("echo")
    target = folder / path
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    with pytest.raises(RegistryError) as caught:
        tool.handler()
    assert caught.value.reason == "handler_gone"


@pytest.mark.parametrize(
    "handler",
    [
        "raise RuntimeError('at import')\ndef execute(text): ...\n",
        "import no_such_module\ndef execute(text): ...\n",
        "raise SystemExit\ndef execute(text): ...\n",
        "raise KeyboardInterrupt\ndef execute(text): ...\n",
        "raise GeneratorExit\ndef execute(text): ...\n",
        "execute = 5\n",
        "from .words import execute\n",
        "def wrap(f): return lambda: None\n@wrap\ndef execute(text): ...\n",
    ],
)
def test_a_handler_that_cannot_be_imported_is_broken(tools, handler):
    tools.add("echo", handler=handler, files={"words.py": "def execute(): ...\n"})
    with pytest.raises(RegistryError) as caught:
        Registry.build(tools.path).find("echo").handler()
    assert caught.value.reason == "handler_broken"
