import importlib
from datetime import UTC, datetime

import pytest

from groundwire.contracts.errors import ArtifactError, RegistryError
from groundwire.registry import Registry, Tool, tool


@tool(category="retrieval")
def look_up(query: str) -> dict:
    """Look something up."""
    return {"query": query}


@tool(name="shop.pay", category="action", supplied=("actor",))
async def pay(amount: int, actor: str):
    """Pay an amount."""


note = Tool("note", description="Note something.", parameters={"properties": {"text": {}}}, handler=lambda text: text)


@pytest.fixture
def registry() -> Registry:
    return Registry([pay, note, look_up])


@pytest.mark.requirement("C-024")
def test_a_registry_has_no_tools_of_its_own():
    assert list(Registry()) == []
    assert len(Registry([])) == 0


@pytest.mark.requirement("C-023", "X-04")
def test_a_registry_is_made_from_a_list_and_lists_it_by_id(registry):
    assert [each.tool_id for each in registry] == ["look_up", "note", "shop.pay"]
    assert len(registry) == 3
    assert list(Registry([look_up, pay, note])) == list(registry)


@pytest.mark.requirement("X-01", "B-009", "C-025")
def test_a_tool_is_found_by_its_id_and_by_its_wire_name(registry):
    assert registry.find("shop.pay") is registry.find("shop__pay") is pay
    assert "shop.pay" in registry
    assert "shop__pay" in registry
    assert "." not in pay.wire_name
    assert registry.find("shop_pay") is None


def test_a_name_with_double_underscores_is_not_taken_apart():
    assert Registry([Tool("a__b")]).find("a.b") is None


@pytest.mark.requirement("X-01")
@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("a.b", "a__b"), "wire_name_collision"),
        (("a__b", "a.b"), "wire_name_collision"),
        (("a.b__c", "a__b.c"), "wire_name_collision"),
        (("a", "a"), "duplicate_tool_id"),
        (("a.b", "a.b"), "duplicate_tool_id"),
    ],
)
def test_two_tools_of_one_name_are_refused_and_both_named(names, reason):
    with pytest.raises(RegistryError) as caught:
        Registry([Tool(name) for name in names])
    assert caught.value.reason == reason
    assert all(name in caught.value.message for name in names)


def test_a_plain_function_is_refused_with_a_hint():
    with pytest.raises(RegistryError) as caught:
        Registry([len])
    assert caught.value.reason == "not_a_tool"
    assert "@tool" in caught.value.hint


@pytest.mark.requirement("B-134", "B-074", "X-04")
def test_the_version_follows_the_content_and_not_the_order(registry):
    assert registry.version == Registry([look_up, pay, note]).version
    assert registry.version != Registry([look_up, pay]).version
    prefix, digits = registry.version[:4], registry.version[4:]
    assert prefix == "1.0."
    assert len(digits) == 8
    assert int(digits, 16) >= 0


def test_more_tools_make_another_registry_and_leave_the_first(registry):
    more = registry.with_tools([Tool("client")])
    assert [each.tool_id for each in more] == ["client", "look_up", "note", "shop.pay"]
    assert more.version != registry.version
    assert len(registry) == 3
    assert registry.find("client") is None
    with pytest.raises(RegistryError):
        registry.with_tools([Tool("note")])


@pytest.mark.requirement("B-001", "B-006", "B-007", "B-027", "B-130")
def test_one_tool_is_declared_for_text_and_for_voice(registry):
    assert registry.declarations("geminiJson", names=["look_up"]) == [
        {
            "name": "look_up",
            "description": "Look something up.",
            "parametersJsonSchema": look_up.spec.parameters,
        }
    ]
    assert registry.declarations("geminiNative", names=["look_up"]) == [
        {
            "name": "look_up",
            "description": "Look something up.",
            "parameters": {"type": "OBJECT", "properties": {"query": {"type": "STRING"}}, "required": ["query"]},
        }
    ]


def test_supplied_arguments_are_not_declared(registry):
    (declared,) = registry.declarations("openai", names=["shop.pay"])
    assert declared["function"]["name"] == "shop__pay"
    assert list(declared["function"]["parameters"]["properties"]) == ["amount"]


def test_only_tools_for_models_are_declared_unless_named():
    registry = Registry([Tool("shown"), Tool("hidden", exposure="internal")])
    assert [each["name"] for each in registry.declarations("anthropic")] == ["shown"]
    assert [each["name"] for each in registry.declarations("mcp", names=["hidden", "shown"])] == ["hidden", "shown"]


@pytest.mark.parametrize(
    ("form", "names", "reason"), [("cohere", None, "unknown_format"), ("openai", ["x"], "unknown_tool")]
)
def test_an_unknown_form_or_name_is_refused(registry, form, names, reason):
    with pytest.raises(RegistryError) as caught:
        registry.declarations(form, names=names)
    assert caught.value.reason == reason


@pytest.mark.requirement("X-04", "B-022")
def test_an_artifact_gives_the_same_registry_back(registry):
    body = registry.artifact(built_at=datetime(2026, 1, 2, tzinfo=UTC))
    loaded = Registry.from_artifact(body)
    assert loaded.version == registry.version
    assert [each.spec for each in loaded] == [each.spec for each in registry]
    assert [each.content_hash for each in loaded] == [each.content_hash for each in registry]
    for form in ("openai", "openaiResponses", "anthropic", "geminiNative", "geminiJson", "mcp"):
        assert loaded.declarations(form) == registry.declarations(form)
    assert loaded.artifact() == body


def test_a_loaded_registry_can_take_more_tools(registry):
    more = Registry.from_artifact(registry.artifact()).with_tools([Tool("client")])
    again = Registry.from_artifact(more.artifact())
    assert again.version == more.version == registry.with_tools([Tool("client")]).version


@pytest.mark.requirement("B-135")
def test_an_older_version_finds_its_functions_in_the_running_registry(registry):
    older = registry.with_tools([Tool("gone", handler=lambda: 1)])
    pinned = registry.older(older.artifact())
    assert pinned.version == older.version
    assert pinned.find("note").handler().function("a") == "a"
    with pytest.raises(RegistryError) as caught:
        pinned.find("gone").handler()
    assert caught.value.reason == "handler_gone"


def test_a_function_that_takes_other_arguments_now_is_not_run_under_an_old_version(registry):
    changed = Registry([Tool("note", parameters={"properties": {"words": {}}}, handler=lambda words: words)])
    with pytest.raises(RegistryError) as caught:
        changed.older(registry.artifact()).find("note").handler()
    assert caught.value.reason == "handler_changed"


def test_without_a_running_registry_a_tool_is_found_in_its_module(tmp_path, monkeypatch):
    source = "from groundwire.registry import tool\n@tool\ndef remote(text: str):\n    return text\n"
    (tmp_path / "registry_test_module.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("registry_test_module")
    artifact = Registry([module.remote]).artifact()

    assert Registry.from_artifact(artifact).find("remote").handler().function("a") == "a"

    del module.remote
    with pytest.raises(RegistryError) as caught:
        Registry.from_artifact(artifact).find("remote").handler()
    assert caught.value.reason == "handler_gone"


@pytest.mark.parametrize("path", ["os:system", "no.such.module:f", ":f", "shutil:rmtree"])
def test_an_artifact_cannot_name_just_any_function(registry, path):
    artifact = Registry([note]).artifact().replace(note.spec.handler_path.encode(), path.encode())
    with pytest.raises(RegistryError) as caught:
        Registry.from_artifact(artifact).find("note").handler()
    assert caught.value.reason == "handler_gone"


def test_a_clients_tool_has_no_handler_after_loading_either():
    with pytest.raises(RegistryError) as caught:
        Registry.from_artifact(Registry([Tool("client")]).artifact()).find("client").handler()
    assert caught.value.reason == "no_handler"


def test_a_registry_shows_version_and_size(registry):
    assert repr(registry) == f"Registry({registry.version}, 3 tools)"


def test_a_missing_artifact_says_how_to_make_one(tmp_path):
    with pytest.raises(ArtifactError) as caught:
        Registry.load(tmp_path / "tool_registry.json")
    assert caught.value.reason == "missing"
    assert "groundwire build" in caught.value.hint


def test_tools_are_offered_to_models_under_their_wire_names_and_without_supplied_arguments(registry):
    (offered,) = registry.function_tools(["shop.pay"])
    assert offered.name == "shop__pay"
    assert list(offered.parameters["properties"]) == ["amount"]
    assert (offered.strict, offered.freeform) == (None, None)
    (looked,) = registry.function_tools(["look_up"])
    assert (looked.description, looked.parameters) == ("Look something up.", look_up.spec.parameters)


def test_only_tools_for_models_are_offered_unless_named():
    registry = Registry([Tool("shown"), Tool("hidden", exposure="internal")])
    assert [each.name for each in registry.function_tools()] == ["shown"]
    assert [each.name for each in registry.function_tools(["hidden", "shown"])] == ["hidden", "shown"]
    with pytest.raises(RegistryError, match="There is no tool 'gone'"):
        registry.function_tools(["gone"])


@pytest.mark.parametrize(
    ("dialect", "form"),
    [
        ("openai-chat", "openai"),
        ("openai-responses", "openaiResponses"),
        ("gemini", "geminiNative"),
        ("gemini-json", "geminiJson"),
    ],
)
def test_a_form_has_the_name_of_its_dialect_too(registry, dialect, form):
    assert registry.declarations(dialect) == registry.declarations(form)
