"""The pages are true: their examples run, their settings load, their links lead somewhere.

Each page is one test in a folder of its own, and its blocks share one namespace, in the order in which they stand.
A comment in front of a block says more about it:

- `<!-- file: tools/find_order/guide.md -->` writes the block to that file, so that later blocks can use it;
- `<!-- run -->` runs the commands of a bash or console block in a project made by `groundwire init`. In a console
  block the lines without `$` are what the command prints; `…` in them stands for anything. A command succeeds,
  unless it ends in a comment such as `# exit 1`.
"""

import ast
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from groundwire import load_settings
from groundwire.registry.sample import write_sample
from scripts import docs

ROOT = docs.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
SECONDS = 60
OUTSIDE = ("GROUNDWIRE_", "DATABASE_URL", "OTEL_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_")

FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>[\w-]*)\s*")
MARK = re.compile(r"<!--\s*(?P<mark>run|file:\s*(?P<file>\S+))\s*-->")
EXIT = re.compile(r"# exit (\d+)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, kw_only=True)
class Block:
    language: str
    text: str
    line: int
    runs: bool = False
    file: str = ""


def read_blocks(page):
    """The fenced blocks of a page, each with the mark in front of it."""
    blocks, mark, opened = [], None, None
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if opened is None:
            if found := FENCE.fullmatch(line):
                opened = (found, number, [], mark)
            mark = MARK.fullmatch(line) if line.strip() else mark
        elif line == opened[0]["fence"]:
            fence, start, content, known = opened
            blocks.append(
                Block(
                    language=fence["language"],
                    text="\n".join(content) + "\n",
                    line=start + 1,
                    runs=known is not None and known["mark"] == "run",
                    file=(known["file"] or "") if known is not None else "",
                )
            )
            opened = mark = None
        else:
            opened[2].append(line)
    assert opened is None, f"{page} has a block that is not closed"
    return blocks


def name_of(page):
    return str(page.relative_to(ROOT))


RUNNING = [page for page in PAGES if any(b.language == "python" or b.runs or b.file for b in read_blocks(page))]
SETTINGS = [(page, b) for page in PAGES for b in read_blocks(page) if b.language == "toml"]
TABLES = [(page, b) for page in PAGES for b in read_blocks(page) if b.language == "json"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith(OUTSIDE)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"), prepend=os.pathsep)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
async def test_every_example_of_a_page_runs(page, tmp_path, monkeypatch):
    blocks = read_blocks(page)
    monkeypatch.chdir(tmp_path)
    if any(block.runs for block in blocks):
        write_sample(tmp_path)
    namespace = {"__name__": "page"}
    for block in blocks:
        if block.file:
            target = tmp_path / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        if block.language == "python":
            await execute(block, page, {"__name__": "page"} if block.file else namespace)
        elif block.runs:
            run_commands(block, tmp_path)


async def execute(block, page, namespace):
    """Run a block as a notebook would, with `await` allowed at the top; tracebacks show the page's own lines."""
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(code, namespace)
    if inspect.iscoroutine(result):
        async with asyncio.timeout(SECONDS):
            await result


def run_commands(block, folder):
    for command, expected in commands_of(block):
        shell = f'groundwire() {{ "{sys.executable}" -m groundwire "$@"; }}\n{command}'
        run = subprocess.run(
            ["bash", "-c", shell],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        printed = run.stdout + run.stderr
        wanted = EXIT.search(command)
        assert run.returncode == (int(wanted[1]) if wanted else 0), f"line {block.line}: {command}:\n{printed}"
        missing = [line for line in expected if not is_printed(line, printed)]
        assert missing == [], f"line {block.line}: {command} printed:\n{printed}"


def commands_of(block):
    """Each command, with the output that the page shows for it."""
    if block.language != "console":
        return [(line, []) for line in block.text.splitlines() if line.strip() and not line.startswith("#")]
    commands = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), []))
        elif line.strip() and commands:
            commands[-1][1].append(line.rstrip())
    return commands


def is_printed(line, printed):
    pattern = ".*".join(re.escape(part) for part in line.split("…"))
    return re.search(rf"(?m)^{pattern}\s*$", printed) is not None


@pytest.mark.parametrize(("page", "block"), SETTINGS, ids=lambda value: getattr(value, "line", None) or name_of(value))
def test_every_settings_example_loads(page, block, tmp_path):
    file = tmp_path / "groundwire.toml"
    file.write_text(block.text, encoding="utf-8")
    load_settings(file, environ={})


@pytest.mark.parametrize(("page", "block"), TABLES, ids=lambda value: getattr(value, "line", None) or name_of(value))
def test_every_json_example_is_json(page, block):
    json.loads(block.text)


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_every_link_leads_somewhere(page):
    broken = []
    for target in links_of(page):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (anchor and anchor not in anchors_of(found)):
            broken.append(target)
    assert broken == []


def links_of(page):
    text = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$", "", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = (found["target"] for found in LINK.finditer(text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors_of(page):
    """Headings as they are named in links."""
    headings = re.findall(r"(?m)^#+ +(.+?)\s*$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_reference_is_what_the_generators_write():
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert written == {path for path, _ in docs.GENERATORS}
    assert list(docs.find_stale(docs.GENERATORS, ROOT)) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=name_of)
def test_every_page_can_be_found_from_the_index(page):
    index = ROOT / "docs" / "README.md"
    decisions = ROOT / "docs" / "decisions" / "README.md"
    reachable = {
        (start.parent / link.partition("#")[0]).resolve() for start in (index, decisions) for link in links_of(start)
    }
    assert page == index or page in reachable


def test_a_block_is_read_with_its_mark(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# P\n\n<!-- run -->\n\n```console\n$ echo hi\nh…\n```\n\n````markdown\n```python\n1/0\n```\n````\n"
    )
    command, nested = read_blocks(page)
    assert (command.runs, command.line, commands_of(command)) == (True, 6, [("echo hi", ["h…"])])
    assert (nested.language, nested.runs) == ("markdown", False)


@pytest.mark.parametrize(("shown", "fits"), [("a … c", True), ("a b c", True), ("a … d", False), ("b", False)])
def test_output_is_compared_line_by_line(shown, fits):
    assert is_printed(shown, "x\na b c\n") is fits


async def test_a_failing_example_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nimport asyncio\nawait asyncio.sleep(0)\nassert False\n```\n")
    with pytest.raises(AssertionError):
        await execute(read_blocks(page)[0], page, {})


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# A heading, and more\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md#a-heading-and-more) [b](https://example.org) `[c](gone.md)` [d](gone.md)\n")
    assert links_of(page) == ["there.md#a-heading-and-more", "gone.md"]
    assert anchors_of(tmp_path / "there.md") == {"a-heading-and-more"}
