"""Attacks by tool folders: names that are paths or look like others, and links out of the folder."""

import json
from collections.abc import Iterable

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.project import ANY_OBJECT, Project, Tool

PATHS = ("../../etc/passwd", "..", ".", "a/b", "a\\b", "/etc/passwd", "a/../b", "~/x", "C:\\x")
LOOK_ALIKES = ("get_w\u0435ather", "s\u0435nd_note", "p\u0430y", "\u0440ay", "g\u03bft_weather", "send\u200b_note")
"""With a Cyrillic or Greek letter among Latin ones, or an invisible character."""


def _built(names: Iterable[str], context: AttackContext) -> Outcome:
    project = Project(context)
    wanted = list(names)
    for number, name in enumerate(wanted):
        Tool(name=name).write(project.tools, f"folder_{number}")
    project.write_tools(Tool(name="ordinary"))
    report = project.build()
    built = [name for name in wanted if name in report["built"]]
    faults = [f"{name!a} was built" for name in built]
    if "ordinary" not in report["built"]:
        faults.append("an ordinary tool was refused")
    return conclude(faults, f"{len(wanted)} names are quarantined")


def path_as_a_name(context: AttackContext) -> Outcome:
    return _built(PATHS, context)


def look_alike_name(context: AttackContext) -> Outcome:
    return _built(LOOK_ALIKES, context)


def link_out_of_the_folder(context: AttackContext) -> Outcome:
    project = Project(context)
    outside = context.folder / "outside"
    outside.mkdir()
    marker = f"marker{context.random.getrandbits(64):x}"
    (outside / "guide.md").write_text(f"# secret\n\n{marker}\n", encoding="utf-8")
    (outside / "handler.py").write_text(
        f"def execute(**arguments):\n    return {{'m': '{marker}'}}\n", encoding="utf-8"
    )
    schema = {"toolId": "linked_schema", "category": "utility", "parameters": ANY_OBJECT | {"description": marker}}
    (outside / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    for file in ("guide.md", "handler.py", "schema.json"):
        folder = Tool(name=f"linked_{file.partition('.')[0]}").write(project.tools)
        (folder / file).unlink()
        (folder / file).symlink_to(outside / file)
    project.write_tools(Tool(name="ordinary"))
    report = project.build()
    faults = [f"{name} was built" for name in report["built"] if name.startswith("linked_")]
    registry = project.folder / "tool_registry.json"
    if registry.exists() and marker in registry.read_text(encoding="utf-8"):
        faults.append("the registry has the text of a file outside")
    if "ordinary" not in report["built"]:
        faults.append("an ordinary tool was refused")
    return conclude(faults, "three links to files outside are refused")


ATTACKS = (
    Attack(
        name="tool-id-path",
        aim="A tool's id is a path, such as ../../etc/passwd.",
        run=path_as_a_name,
        seconds=20,
        usual_seconds=1,
    ),
    Attack(
        name="tool-id-look-alike",
        aim="A tool's id looks like another one, by letters of another script.",
        run=look_alike_name,
        seconds=20,
        usual_seconds=1,
    ),
    Attack(
        name="tool-link",
        aim="Files of a tool folder are links to files elsewhere.",
        run=link_out_of_the_folder,
        seconds=20,
        usual_seconds=1,
    ),
)
