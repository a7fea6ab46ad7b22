"""Which names tools may have: shown as they are, never a path, and never like another one by letters of two scripts."""

import json

import pytest

from groundwire import Registry, Tool
from groundwire.contracts.errors import RegistryError
from groundwire.registry.names import MAX_NAME, name_fault

GOOD = (
    "get_weather",
    "marketplace.search_vendors",
    "a-b.c_d",
    "x" * MAX_NAME,
    "查询天气",
    "get_天気をみる",
    "날씨_get",
    "погода",
    "prix_été",
    "straße",
)
PATHS = ("../../etc/passwd", "..", ".", "a/b", "a\\b", "/etc/passwd", "~/x", "C:\\x", "a..b", ".a", "a.")
LOOK_ALIKES = ("get_w\u0435ather", "p\u0430y", "\u0440ay", "g\u03bft", "\uff47et", "\U0001d41eat", "ﬁnd", "get\u200b")


@pytest.mark.parametrize("name", GOOD)
def test_ordinary_names_of_any_one_script_are_accepted(name):
    assert name_fault(name) == ""


@pytest.mark.parametrize("name", [*PATHS, *LOOK_ALIKES, "x" * (MAX_NAME + 1), "a b", "a\nb"])
def test_paths_look_alikes_and_what_cannot_be_shown_are_refused(name):
    with pytest.raises(RegistryError) as refused:
        Tool(name)
    assert refused.value.reason == "invalid_name"


@pytest.mark.parametrize("name", ["guide.md", "handler.py", "schema.json", "helper.py"])
def test_a_file_that_links_out_of_its_folder_is_refused_and_one_that_stays_inside_is_not(tmp_path, name):
    folder, outside = tmp_path / "tools" / "note", tmp_path / "outside"
    folder.mkdir(parents=True)
    outside.mkdir()
    schema = {"toolId": "note", "category": "utility", "parameters": {"type": "object"}}
    for place in (folder, outside):
        (place / "schema.json").write_text(json.dumps(schema))
        (place / "guide.md").write_text("# Note\n\nNote it.\n")
        (place / "handler.py").write_text("def execute():\n    return 1\n")
        (place / "helper.py").write_text("")
    (folder / name).rename(folder / f"real_{name}")
    (folder / name).symlink_to(f"real_{name}")
    assert [tool.tool_id for tool in Registry.build(tmp_path / "tools")] == ["note"]
    (folder / name).unlink()
    (folder / name).symlink_to(outside / name)
    built = Registry.build(tmp_path / "tools")
    assert (len(built), [problem.reason for problem in built.quarantined]) == (
        0,
        ["unreadable" if name == "helper.py" else "link_outside"],
    )
