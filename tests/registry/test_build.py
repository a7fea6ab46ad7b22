import json
import os
import re
import shutil
import subprocess
from datetime import datetime

import pytest

from groundwire.contracts.errors import RegistryError
from groundwire.registry import Registry
from groundwire.registry import build as build_module
from groundwire.registry.build import build, check

EPOCH = {"SOURCE_DATE_EPOCH": "1767225600"}


def read(folder) -> tuple[bytes, bytes]:
    return (folder / "tool_registry.json").read_bytes(), (folder / "tools.lock").read_bytes()


@pytest.mark.requirement("B-026", "B-068", "B-132")
def test_one_build_makes_artifact_lock_and_report(tools, tmp_path):
    tools.add("echo")
    tools.add("bad", guide=None)
    report = build(tools.path, tmp_path)

    assert report.built == ("echo",)
    assert [(problem.tool, problem.reason) for problem in report.quarantined] == [("bad", "missing_guide")]
    assert [(drift.tool, drift.kind) for drift in report.changed] == [("echo", "added")]
    assert json.loads((tmp_path / "tools.lock").read_bytes()) == {
        "version": report.version,
        "tools": {"echo": Registry.build(tools.path).find("echo").content_hash},
    }
    assert Registry.load(tmp_path / "tool_registry.json").version == report.version
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project", "tool_registry.json", "tools.lock"]


@pytest.mark.requirement("B-134", "B-076")
def test_two_builds_give_the_same_bytes(tools, tmp_path):
    tools.add("echo")
    tools.add("alpha")
    build(tools.path, tmp_path, environ=EPOCH)
    first = read(tmp_path)
    build(tools.path, tmp_path, environ=EPOCH)
    assert read(tmp_path) == first
    assert json.loads(first[0])["buildTimestamp"] == "2026-01-01T00:00:00Z"


@pytest.mark.requirement("B-076")
@pytest.mark.parametrize("environ", [{}, {"SOURCE_DATE_EPOCH": "soon"}, {"SOURCE_DATE_EPOCH": "9" * 30}])
def test_without_a_given_moment_the_timestamp_is_now_in_utc(tools, tmp_path, environ):
    build(tools.path, tmp_path, environ=environ)
    stamp = json.loads(read(tmp_path)[0])["buildTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)
    assert datetime.fromisoformat(stamp).utcoffset().total_seconds() == 0


@pytest.mark.requirement("B-134", "B-068")
def test_the_version_does_not_depend_on_place_times_line_ends_or_caches(tools, tmp_path):
    tools.add("echo", files={"data.bin": b"\0\r\n", "notes/words.txt": "a\nb\n"})
    version = build(tools.path, tmp_path / "one").version
    copy = tmp_path / "elsewhere" / "my tools"
    shutil.copytree(tools.path, copy)
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        if path.suffix != ".bin":
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        os.utime(path, (1, 1))
        path.chmod(0o755)
    (copy / "echo" / "__pycache__").mkdir()
    (copy / "echo" / "__pycache__" / "handler.cpython-311.pyc").write_bytes(b"x")
    (copy / "echo" / ".DS_Store").write_bytes(b"x")
    (copy / "README.md").write_text("beside")

    assert build(copy, tmp_path / "two").version == version


@pytest.mark.requirement("B-134")
@pytest.mark.parametrize("file", ["schema.json", "guide.md", "handler.py", "helper.py", "data/table.csv"])
def test_the_version_depends_on_every_file_of_a_tool(tools, tmp_path, file):
    folder = tools.add("echo", files={"helper.py": "A = 1\n", "data/table.csv": "a,b\n"})
    before = build(tools.path, tmp_path).version
    (folder / file).write_bytes((folder / file).read_bytes() + b"\n")
    assert build(tools.path, tmp_path).version != before


@pytest.mark.requirement("B-075")
def test_the_commit_is_named_where_git_knows_one(tools, tmp_path):
    tools.add("echo")
    build(tools.path, tmp_path)
    assert json.loads(read(tmp_path)[0])["gitCommit"] is None

    git = ["git", "-C", str(tools.path.parent), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    version = build(tools.path, tmp_path).version
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert json.loads(read(tmp_path)[0])["gitCommit"] == head
    assert version == build(tools.path, tmp_path / "other").version


def test_without_git_the_build_goes_on(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    tools.add("echo")
    assert build(tools.path, tmp_path).built == ("echo",)
    assert json.loads(read(tmp_path)[0])["gitCommit"] is None


def test_after_a_build_there_is_no_drift(tools, tmp_path):
    tools.add("echo")
    build(tools.path, tmp_path)
    assert check(tools.path, tmp_path) == []
    (tmp_path / "tool_registry.json").unlink()
    assert check(tools.path, tmp_path) == []


def test_drift_names_what_was_added_removed_changed_or_broken(tools, tmp_path):
    for name in ("same", "changed", "removed", "broken"):
        tools.add(name)
    build(tools.path, tmp_path)
    (tools.path / "changed" / "guide.md").write_text("# changed\nNew words.\n")
    (tools.path / "broken" / "handler.py").write_text("def execute(:")
    shutil.rmtree(tools.path / "removed")
    tools.add("added")

    expected = [("added", "added"), ("broken", "removed"), ("changed", "changed"), ("removed", "removed")]
    found = [(drift.file, drift.tool, drift.kind) for drift in check(tools.path, tmp_path)]
    assert found == [
        *(("tools.lock", *pair) for pair in expected),
        *(("tool_registry.json", *pair) for pair in expected),
        ("broken/handler.py", "broken", "quarantined"),
    ]
    assert [(drift.tool, drift.kind) for drift in build(tools.path, tmp_path).changed] == expected


@pytest.mark.parametrize(
    ("file", "content", "kind"),
    [
        ("tools.lock", None, "missing_lock"),
        ("tools.lock", b"{", "damaged"),
        ("tools.lock", b"\xff", "damaged"),
        ("tool_registry.json", b"{}", "damaged"),
    ],
)
def test_a_missing_lock_or_a_damaged_file_is_drift(tools, tmp_path, file, content, kind):
    tools.add("echo")
    build(tools.path, tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    assert [(drift.kind, drift.file) for drift in check(tools.path, tmp_path)] == [(kind, file)]


def test_a_lock_with_a_wrong_version_is_drift(tools, tmp_path):
    tools.add("echo")
    version = build(tools.path, tmp_path).version
    lock = tmp_path / "tools.lock"
    lock.write_text(lock.read_text().replace(version, "1.0.00000000"))
    assert [drift.kind for drift in check(tools.path, tmp_path)] == ["damaged"]


def test_a_place_that_cannot_be_written_is_a_named_error(tools, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryError) as caught:
        build(tools.path, tmp_path / "file")
    assert caught.value.reason == "unwritable"


def test_a_build_warns_of_what_providers_may_refuse(tools, tmp_path):
    tools.add("x" * 80, guide="# x\n## y\nz")
    codes = {warning.code for warning in build(tools.path, tmp_path).warnings}
    assert codes == {"name_length", "summary_disagrees"}


@pytest.mark.requirement("B-028")
def test_the_builder_explains_the_build():
    for step in ("schema.json", "guide.md", "handler.py", "version", "quarantined"):
        assert step in build_module.__doc__
