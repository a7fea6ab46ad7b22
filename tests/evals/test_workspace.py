"""The workspace's two tools, through the runtime."""

import pytest

from groundwire import ErrorType, Runtime
from groundwire.evals.workspace import MAX_OPERATIONS, MemoryWorkspace, workspace_tools
from groundwire.testing import assert_failed, assert_ok


@pytest.fixture
async def opened():
    workspace = MemoryWorkspace({"draft": {"title": "Old", "tags": ["calm"]}})
    runtime = Runtime(workspace_tools(workspace), "memory://")
    async with runtime:
        yield runtime, workspace


@pytest.mark.requirement("C-041", "C-042")
async def test_the_document_is_read_and_changed_and_each_change_is_a_version(opened):
    runtime, workspace = opened
    assert assert_ok(await runtime.call("state_get", {"path": "/draft/title"})) == {"value": "Old", "version": 1}
    changes = [{"op": "set", "path": "/draft/title", "value": "New"}]
    assert assert_ok(await runtime.call("state_patch", {"ops": changes})) == {"version": 2, "changed": ["/draft/title"]}
    assert workspace.read() == {"draft": {"title": "New", "tags": ["calm"]}}


async def test_what_was_read_is_the_readers_own(opened):
    runtime, workspace = opened
    data = assert_ok(await runtime.call("state_get", {}))
    data["value"]["draft"]["tags"].append("loud")
    assert workspace.read()["draft"]["tags"] == ["calm"]


async def test_a_patch_is_made_whole_or_not_at_all(opened):
    runtime, workspace = opened
    changes = [{"op": "set", "path": "/draft/title", "value": "New"}, {"op": "delete", "path": "/nowhere"}]
    error = assert_failed(await runtime.call("state_patch", {"ops": changes}), ErrorType.VALIDATION)
    assert (error.detail, error.message) == ("INVALID_PATH", "ops[1]: There is nothing at /nowhere.")
    assert (workspace.read()["draft"]["title"], workspace.version) == ("Old", 1)


@pytest.mark.requirement("C-057")
@pytest.mark.parametrize(
    ("given", "is_there"), [({}, True), ({"workspace_id": "ws_1"}, True), ({"workspace_id": "ws_2"}, False)]
)
async def test_the_workspace_is_implicit_and_no_other_can_be_named(opened, given, is_there):
    runtime, _ = opened
    result = await runtime.call("state_get", given)
    if is_there:
        assert_ok(result)
    else:
        assert_failed(result, ErrorType.NOT_FOUND)


@pytest.mark.parametrize(("count", "is_taken"), [(MAX_OPERATIONS, True), (MAX_OPERATIONS + 1, False)])
async def test_a_patch_has_so_many_operations_at_most(opened, count, is_taken):
    runtime, workspace = opened
    result = await runtime.call("state_patch", {"ops": [{"op": "append", "path": "/draft/tags", "value": "x"}] * count})
    if is_taken:
        assert_ok(result)
    else:
        assert_failed(result, ErrorType.VALIDATION)
    assert len(workspace.read()["draft"]["tags"]) == (count + 1 if is_taken else 1)
