import json
import shutil

import pytest

from groundwire.contracts.errors import ArtifactError, RegistryError
from groundwire.registry import Registry
from groundwire.registry.build import build

NOT_AN_ARTIFACT = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"version": 1, "gitCommit": null, "buildTimestamp": "", "tools": []}',
    b'{"version": "1.0.00000000", "gitCommit": null, "buildTimestamp": "", "tools": {}}',
    b'{"version": "1.0.00000000", "gitCommit": null, "buildTimestamp": "", "tools": [{"toolId": "x"}]}',
]


@pytest.fixture
def built(tools):
    tools.add("echo", category="retrieval", policy={"softMs": 5}, result={"type": "object"})
    tools.add("shop__pay", toolId="shop.pay", category="action")
    tools.add("broken", handler=None)
    build(tools.path, tools.path.parent)
    return tools.path.parent / "tool_registry.json"


@pytest.mark.requirement(
    "B-074", "B-075", "B-076", "B-077", "B-078", "B-079", "B-080", "B-081", "B-082", "B-083", "B-084", "X-34"
)
def test_the_artifact_has_every_field_that_agents_read(built):
    artifact = json.loads(built.read_bytes())

    assert list(artifact) == ["version", "gitCommit", "buildTimestamp", "tools", "quarantined"]
    assert artifact["quarantined"] == [
        {"tool": "broken", "reason": "missing_handler", "message": "The folder has no handler.py."}
    ]
    echo, pay = artifact["tools"]
    assert list(echo) == [
        "toolId", "wireName", "category", "modes", "requiresConfirmation", "exposure", "jsonSchema", "result", "policy",
        "providerSchemas", "summary", "description", "documentation", "handlerPath", "handlerHash", "contentHash",
    ]  # fmt: skip
    assert set(echo) - set(pay) == {"result", "policy"}
    assert (pay["toolId"], pay["wireName"], pay["category"]) == ("shop.pay", "shop__pay", "action")
    assert echo["jsonSchema"]["properties"] == {"text": {"type": "string", "description": "What to say."}}
    assert list(echo["providerSchemas"]) == [
        "openai",
        "openaiResponses",
        "anthropic",
        "geminiNative",
        "geminiJson",
        "mcp",
    ]
    assert echo["summary"] == "Say what was said."
    assert echo["documentation"].startswith("# echo\n")
    assert echo["handlerPath"] == "tools/echo/handler.py"


@pytest.mark.requirement("B-067", "B-126", "B-127")
def test_provider_forms_are_made_while_building_without_supplied_arguments(tools):
    parameters = {"type": "object", "properties": {"text": {"type": "string"}, "actor": {"type": "string"}}}
    tools.add("echo", parameters=parameters, policy={"supplied": ["actor"]}, handler="def execute(text, actor): ...\n")
    build(tools.path, tools.path.parent)
    (entry,) = json.loads((tools.path.parent / "tool_registry.json").read_bytes())["tools"]

    assert entry["jsonSchema"] == parameters
    assert "actor" not in json.dumps(entry["providerSchemas"])
    assert entry["providerSchemas"]["geminiNative"]["parameters"]["properties"] == {"text": {"type": "STRING"}}
    assert entry["providerSchemas"]["openai"]["function"]["parameters"]["properties"] == {"text": {"type": "string"}}


@pytest.mark.requirement("B-002", "B-133", "B-022")
def test_loading_looks_at_no_tool_folder(built):
    expected = Registry.build(built.parent / "tools")
    shutil.rmtree(built.parent / "tools")
    registry = Registry.load(built)
    assert registry.version == expected.version
    assert [tool.spec for tool in registry] == [tool.spec for tool in expected]
    assert registry.declarations("anthropic") == expected.declarations("anthropic")
    assert [tool.tool for tool in registry.quarantined] == ["broken"]
    with pytest.raises(RegistryError) as caught:
        registry.find("echo").handler()
    assert caught.value.reason == "handler_gone"


@pytest.mark.requirement("B-009", "B-100")
def test_a_loaded_tool_can_be_called_at_once(built, tmp_path, monkeypatch):
    assert Registry.load(built).find("echo")(text="a") == {"said": "a"}
    monkeypatch.chdir(built.parent)
    assert Registry.load().find("shop__pay")(text="a") == {"said": "a"}


def test_an_artifact_may_be_moved_with_its_tools(built, tmp_path):
    shutil.copytree(built.parent, tmp_path / "elsewhere")
    shutil.rmtree(built.parent)
    assert Registry.load(tmp_path / "elsewhere" / built.name).find("echo")(text="a") == {"said": "a"}


@pytest.mark.requirement("B-135")
def test_a_changed_handler_is_not_run_under_the_version_that_was_built(built):
    registry = Registry.load(built)
    (built.parent / "tools" / "echo" / "handler.py").write_text("def execute(text):\n    return 'changed'\n")
    with pytest.raises(RegistryError) as caught:
        registry.find("echo").handler()
    assert caught.value.reason == "handler_changed"
    assert registry.find("shop.pay")(text="a") == {"said": "a"}


def test_an_older_artifact_is_read_in_the_place_of_the_running_one(built):
    body = built.read_bytes()
    (built.parent / "tools" / "echo" / "guide.md").write_text("# echo\nOther words.\n")
    build(built.parent / "tools", built.parent)
    running = Registry.load(built)
    older = running.older(body)
    assert older.version != running.version
    assert older.find("echo").spec.summary == "Say what was said."
    assert older.find("echo")(text="a") == {"said": "a"}


def test_a_build_into_another_folder_can_be_loaded_there(tools, tmp_path):
    tools.add("echo")
    build(tools.path, tmp_path / "out" / "deep")
    registry = Registry.load(tmp_path / "out" / "deep" / "tool_registry.json")
    assert registry.find("echo").spec.handler_path == "../../project/tools/echo/handler.py"
    assert registry.find("echo")(text="a") == {"said": "a"}
    assert registry.older(registry.artifact()).find("echo")(text="a") == {"said": "a"}
    with pytest.raises(ArtifactError):
        Registry.from_artifact(registry.artifact(), tmp_path / "out" / "deep")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/handler.py",
        "../outside/handler.py",
        "tools/../../outside/handler.py",
        "tools/./echo/handler.py",
        "tools//echo/handler.py",
        "tools\\echo\\handler.py",
        "C:/tools/echo/handler.py",
        "tools/echo/other.py",
        "https://example.com/handler.py",
        "tools/\0/handler.py",
    ],
)
def test_a_handler_path_that_leads_elsewhere_is_refused(built, path):
    body = built.read_bytes().replace(b'"tools/echo/handler.py"', json.dumps(path).encode())
    with pytest.raises(ArtifactError) as caught:
        Registry.from_artifact(body, built.parent)
    assert caught.value.reason == "damaged"


@pytest.mark.parametrize("body", NOT_AN_ARTIFACT, ids=lambda body: repr(body[:40]))
def test_what_is_no_artifact_says_how_to_make_one(body):
    with pytest.raises(ArtifactError) as caught:
        Registry.from_artifact(body)
    assert caught.value.reason == "damaged"
    assert "groundwire build" in caught.value.hint


def test_every_cut_of_an_artifact_is_refused(built):
    body = built.read_bytes().rstrip()
    for length in range(0, len(body), 7):
        with pytest.raises(ArtifactError):
            Registry.from_artifact(body[:length])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"wireName":"echo"', b'"wireName":"other"', "damaged"),
        (b'"toolId":"echo"', b'"toolId":"ec ho"', "damaged"),
        (b'"toolId":"echo","wireName":"echo"', b'"toolId":"shop.pay","wireName":"shop__pay"', "duplicate_tool_id"),
        (b'"toolId":"echo","wireName":"echo"', b'"toolId":"shop__pay","wireName":"shop__pay"', "wire_name_collision"),
        (b'"category":"action"', b'"category":"joke"', "damaged"),
    ],
)
def test_an_artifact_that_contradicts_itself_is_refused(built, old, new, reason):
    with pytest.raises(ArtifactError) as caught:
        Registry.from_artifact(built.read_bytes().replace(old, new))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"jsonSchema":{', b'"jsonSchema":[],"other":{'),
        (b'{"softMs":5}', b'{"softMs":[]}'),
        (b'"summary":"', b'"summary":5,"other":"'),
    ],
)
def test_a_damaged_part_is_found_when_it_is_needed(built, old, new):
    registry = Registry.from_artifact(built.read_bytes().replace(old, new, 1))
    with pytest.raises(ArtifactError) as caught:
        _ = registry.find("echo").spec
    assert caught.value.reason == "damaged"


def test_an_approval_text_goes_through_the_artifact(tools):
    tools.add("echo", requiresConfirmation=True, approvalText="Say {text} aloud")
    build(tools.path, tools.path.parent)
    built = tools.path.parent / "tool_registry.json"
    assert [entry["approvalText"] for entry in json.loads(built.read_bytes())["tools"]] == ["Say {text} aloud"]
    (loaded,) = Registry.load(built)
    assert loaded.spec.approval_text == "Say {text} aloud"
