import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.contracts.errors import ArtifactError, RegistryError
from groundwire.registry import Registry, Tool
from groundwire.registry.docstrings import read_docstring
from groundwire.registry.folder import REASONS, read_tools

PARTS = {
    "schema.json": json.dumps({"toolId": "t", "category": "utility", "parameters": {"type": "object"}}).encode(),
    "guide.md": b"# t\nIt does.\n",
    "handler.py": b"def execute(): ...\n",
}
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=8), SCALARS, max_size=3)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "$ref",
        "$defs",
        "anyOf",
        "pattern",
        "additionalProperties",
        "text",
    ]
)
WORDS = st.sampled_from(["object", "string", "#", "#/$defs/text", "https://example.com/", "(", "text", True, 5, None])
SCHEMAS = st.recursive(
    WORDS, lambda inner: st.dictionaries(KEYWORDS, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=10
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "toolId": JSON | st.text(),
        "category": JSON | st.just("action"),
        "modes": JSON | st.just(["text"]),
        "parameters": SCHEMAS,
        "result": SCHEMAS,
        "policy": st.dictionaries(
            st.sampled_from(["softMs", "supplied", "ground", "gates", "variants", "budget"]), JSON
        ),
    },
)
PYTHON = st.lists(
    st.sampled_from(
        [
            "def execute",
            "async ",
            "(",
            ")",
            ":",
            "\n",
            " ",
            "return",
            "yield",
            "*",
            "/",
            "text",
            ",",
            "=",
            "\0",
            "é",
            "'''",
            "lambda",
            "\\",
        ]
    ),
    max_size=20,
).map("".join)


def build_one(contents) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder, "tools", "t")
        tools.mkdir(parents=True)
        for name, data in {**PARTS, **contents}.items():
            (tools / name).write_bytes(data)
        found = read_tools(tools.parent)
        assert len(found.tools) + len(found.problems) == 1
        assert all(problem.reason in REASONS and problem.message for problem in found.problems)
        built = Registry.build(tools.parent)
        loaded = Registry.from_artifact(built.artifact(), folder)
        assert loaded.version == built.version
        assert [tool.spec for tool in loaded] == [tool.spec for tool in found.tools]


@pytest.mark.requirement("B-132", "B-192")
@settings(deadline=None)
@given(name=st.sampled_from(sorted(PARTS)), data=st.binary(max_size=200))
def test_any_bytes_in_a_tool_folder_give_a_tool_or_a_named_problem(name, data):
    build_one({name: data})


@pytest.mark.requirement("B-132", "B-064")
@settings(max_examples=300, deadline=None)
@given(fields=FIELDS, valid=st.sets(st.sampled_from(["toolId", "category"])))
def test_any_json_as_schema_gives_a_tool_or_a_named_problem(fields, valid):
    whole = {"toolId": "t", "category": "utility", "parameters": {"type": "object"}}
    whole.update({name: value for name, value in fields.items() if name not in valid})
    build_one({"schema.json": json.dumps(whole).encode()})


@settings(deadline=None)
@given(source=PYTHON)
def test_any_text_as_handler_gives_a_tool_or_a_named_problem(source):
    build_one({"handler.py": source.encode()})


@pytest.mark.requirement("B-022")
@given(body=st.binary(max_size=300) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_as_artifact_give_a_registry_or_an_artifact_error(body):
    with contextlib.suppress(ArtifactError):
        assert len(Registry.from_artifact(body)) == 0


@given(data=st.data())
def test_a_changed_artifact_gives_a_registry_or_an_artifact_error(data):
    body = Registry([Tool("a.b", description="x", soft_ms=5), Tool("c", guide="# c\nd\n")]).artifact()
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 20)))
    changed = body[:start] + data.draw(st.binary(max_size=10)) + body[end:]
    with contextlib.suppress(RegistryError):
        for tool in Registry.from_artifact(changed):
            assert tool.spec.tool_id == tool.tool_id
            _ = tool.validator


@pytest.mark.requirement("B-134")
@settings(max_examples=30, deadline=None)
@given(
    texts=st.dictionaries(st.from_regex(r"[a-z]{1,8}\.txt", fullmatch=True), st.binary(max_size=50), max_size=3),
    modified=st.integers(0, 2**31),
)
def test_a_copy_with_other_times_and_line_ends_has_the_same_version(texts, modified):
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "one", "t"), Path(folder, "other place", "renamed")
        first.mkdir(parents=True)
        for name, data in {**PARTS, **texts}.items():
            (first / name).write_bytes(data.replace(b"\r\n", b"\n"))
        shutil.copytree(first, second)
        for path in second.iterdir():
            data = path.read_bytes()
            path.write_bytes(data if b"\0" in data else data.replace(b"\n", b"\r\n"))
            os.utime(path, (modified, modified))
        assert Registry.build(first.parent).version == Registry.build(second.parent).version


@given(
    names=st.lists(
        st.from_regex(r"[a-z]{1,3}((\.|_{1,2}|_\.|\._)[a-z]{1,3}){0,2}", fullmatch=True), max_size=6, unique=True
    )
)
def test_every_tool_is_found_by_both_names_or_the_collision_is_refused(names):
    tools = [Tool(name) for name in names]
    wire = {tool.wire_name for tool in tools}
    if len(wire) < len(tools):
        with pytest.raises(RegistryError):
            Registry(tools)
        return
    registry = Registry(tools)
    assert all(registry.find(tool.tool_id) is registry.find(tool.wire_name) is tool for tool in tools)
    assert registry.version == Registry(reversed(tools)).version


@given(text=st.text())
def test_any_text_is_a_docstring(text):
    docstring = read_docstring(text)
    assert all(name for name in docstring.parameters)
