import asyncio
import json
import re
import subprocess
import tomllib
from types import SimpleNamespace

import pytest

from groundwire.contracts.errors import RegistryError
from groundwire.registry import Registry
from groundwire.registry.build import build, check
from groundwire.registry.lint import lint
from groundwire.registry.sample import write_sample


@pytest.fixture
def project(tmp_path, monkeypatch):
    write_sample(tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    return tmp_path / "demo"


def test_the_sample_builds_without_advice(project):
    report = build("tools")
    assert report.built == ("get_weather", "send_note")
    assert (report.quarantined, report.warnings) == ((), ())
    assert check("tools") == []
    assert lint("tools") == lint(Registry.load()) == []


def test_writing_says_what_was_written_and_never_overwrites(tmp_path):
    written = write_sample(tmp_path)
    assert sorted(written) == sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    )
    with pytest.raises(RegistryError) as caught:
        write_sample(tmp_path)
    assert caught.value.reason == "file_exists"

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "groundwire.toml").write_text("mine")
    with pytest.raises(RegistryError) as caught:
        write_sample(tmp_path / "other")
    assert "groundwire.toml" in caught.value.message
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["groundwire.toml"]


def test_a_place_that_cannot_be_written_is_a_named_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryError) as caught:
        write_sample(tmp_path / "file")
    assert caught.value.reason == "unwritable"


@pytest.mark.requirement("B-139")
def test_the_weather_is_made_up_but_always_the_same(project):
    weather = Registry.build("tools").find("get_weather")
    assert (weather.spec.category, weather.spec.requires_confirmation) == ("retrieval", False)
    first = asyncio.run(weather(city="Tokyo"))
    assert first == asyncio.run(weather(city="Tokyo"))
    assert weather.result_validator.is_valid(first)
    fahrenheit = asyncio.run(weather(city="Tokyo", unit="fahrenheit"))
    assert fahrenheit["temperature"] == round(first["temperature"] * 9 / 5 + 32)
    assert weather.validator.is_valid({"city": "Tokyo"})
    assert not weather.validator.is_valid({"city": "Tokyo", "unit": "kelvin"})
    assert len({asyncio.run(weather(city=city))["temperature"] for city in ("Tokyo", "Oslo", "Lima", "Rome")}) > 1


def test_a_note_is_one_line_and_can_be_found_again(project):
    note = Registry.build("tools").find("send_note")
    handler, context = note.handler(), SimpleNamespace(idempotency_key="key")
    assert note.spec.category == "action"
    assert handler.reconcile(text="a\nb", context=context) is None

    sent = note(text="a\nb", context=context)
    assert note.result_validator.is_valid(sent)
    assert handler.reconcile(text="a\nb", context=context) == sent
    assert handler.reconcile(text="a\nb", context=SimpleNamespace(idempotency_key="other")) is None

    note(text="c", context=SimpleNamespace(idempotency_key="other"))
    lines = (project / "notes.txt").read_text().splitlines()
    assert [json.loads(line.split(" ", 1)[1]) for line in lines] == ["a\nb", "c"]


def test_a_note_cut_off_in_the_middle_was_not_sent(project):
    note = Registry.build("tools").find("send_note")
    context = SimpleNamespace(idempotency_key="key")
    sent = note(text="hello", context=context)
    (project / "notes.txt").write_text(f'{sent["noteId"]} "hel')
    assert note.handler().reconcile(text="hello", context=context) is None


@pytest.mark.requirement("B-032")
def test_the_artifact_is_ignored_and_the_lock_is_not(project, repository):
    build("tools")
    subprocess.run(["git", "init", "-q"], check=True)
    shown = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True).stdout
    assert "tools.lock" in shown
    assert "tool_registry.json" not in shown
    assert "tool_registry.json" in (repository / ".gitignore").read_text().splitlines()


def test_the_settings_name_store_and_checkpoint(project):
    settings = tomllib.loads((project / "groundwire.toml").read_text())
    assert settings == {"store": {"url": "sqlite:///groundwire.db"}, "audit": {"checkpoint": "audit.checkpoint"}}


def test_the_commented_policies_are_toml_once_they_are_used(project):
    text = (project / "groundwire.toml").read_text()
    used = tomllib.loads(re.sub(r"^# (?=\[\[policies|tools =|modes =|limits =)", "", text, flags=re.MULTILINE))
    assert [rule["tools"] for rule in used["policies"]] == [["send_*"], ["get_weather"]]


@pytest.mark.requirement("B-071", "B-102", "B-103", "B-104", "B-105")
@pytest.mark.parametrize("name", ["get_weather", "send_note"])
def test_sample_guides_have_the_recommended_form(project, name):
    tool = Registry.build("tools").find(name)
    guide = tool.spec.documentation
    assert re.findall(r"^#+ .*$", guide, re.MULTILINE) == [f"# {name}", "## Parameters", "## Examples", "## Watch Out"]
    for argument in tool.spec.parameters["properties"]:
        assert re.search(rf"^- {argument} \((required|optional)\): ", guide, re.MULTILINE)
    examples = re.findall(r"\*\*.+:\*\*\n\n```json\n(.*?)```", guide, re.DOTALL)
    assert examples
    assert all(tool.validator.is_valid(json.loads(example)) for example in examples)


@pytest.mark.requirement("B-095", "B-096", "B-097", "B-098", "B-099", "B-100", "B-101")
def test_following_the_readme_adds_a_tool_and_changes_nothing_else(project):
    build("tools")
    running = Registry.load()
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    readme = (project / "tools" / "README.md").read_text()
    schema = re.search(r"```json\n(.*?)```\n\n- `toolId`", readme, re.DOTALL)[1]
    guide = re.search(r"````markdown\n(.*?)````", readme, re.DOTALL)[1]
    handler = re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1]

    folder = project / "tools" / "find_order"
    folder.mkdir()
    (folder / "schema.json").write_text(schema)
    (folder / "guide.md").write_text(guide)
    (folder / "handler.py").write_text(handler)
    report = build("tools")

    assert report.built == ("find_order", "get_weather", "send_note")
    assert [(drift.tool, drift.kind) for drift in report.changed] == [("find_order", "added")]
    assert running.find("find_order") is None
    assert Registry.load().find("find_order").handler().wants_context
    assert {path.name for path, data in before.items() if path.read_bytes() != data} == {
        "tool_registry.json",
        "tools.lock",
    }
