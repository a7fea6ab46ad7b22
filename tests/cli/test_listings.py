"""What holds for every command that lists something."""

import json
from pathlib import Path

import pytest

from groundwire.runtime.metrics import to_prometheus

LISTINGS = [
    ["approvals", "list"],
    ["approvals", "list", "--status", "all"],
    ["effects", "list"],
    ["effects", "list", "--status", "unknown"],
    ["audit", "list"],
    ["sessions", "list"],
    ["calls", "list"],
    ["runs", "list"],
    ["keys", "list"],
]


@pytest.fixture
def used(project, run, confirmed_tool):
    """A store that holds at least one of everything."""
    confirmed_tool()
    run("call", "get_weather", '{"city": "Oslo"}', "--session", "s1")
    run("call", "send_note", '{"text": "hi"}', "--session", "s2")
    run("call", "wipe_disk", "--session", "s1")
    run("keys", "create")


@pytest.mark.parametrize("listing", LISTINGS, ids=" ".join)
def test_a_listing_is_one_array_of_objects(used, run, listing):
    result = run(*listing, "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    rows = json.loads(result.stdout)
    assert isinstance(rows, list)
    assert all(isinstance(row, dict) for row in rows)


@pytest.mark.parametrize("listing", LISTINGS, ids=" ".join)
def test_nothing_yet_is_an_empty_list_and_no_database(project, run, listing):
    result = run(*listing, "--json")
    assert (result.exit_code, result.stdout) == (0, "[]\n")
    assert "Nothing has been recorded yet" in result.stderr
    assert not Path("groundwire.db").exists()


@pytest.mark.parametrize("command", [["audit", "export"], ["metrics"], ["audit", "prune", "--older-than", "1d"]])
def test_looking_into_nothing_creates_nothing(project, run, command):
    before = sorted(Path().iterdir())
    result = run(*command)
    assert result.exit_code == 0
    assert "Nothing has been recorded yet" in result.stderr
    assert sorted(Path().iterdir()) == before


def test_a_limit_keeps_the_newest(used, run_json):
    assert [call["tool"] for call in run_json("calls", "list", "--limit", "1")] == ["wipe_disk"]


def test_a_limit_is_at_least_one(used, run):
    assert run("calls", "list", "--limit", "0").exit_code == 2


def test_calls_can_be_narrowed_to_a_session(used, run, run_json):
    assert [call["tool"] for call in run_json("calls", "list", "--session", "s1")] == ["wipe_disk", "get_weather"]
    assert run_json("calls", "list", "--session", "nobody") == []
    (call,) = run_json("calls", "list", "--session", "s2")
    assert call["result"]["ok"] is True
    assert call["createdAt"].endswith("Z")


def test_sessions_are_listed_with_their_state(used, run, run_json):
    listed = run_json("sessions", "list")
    assert {session["sessionId"]: session["status"] for session in listed} == {"s1": "active", "s2": "active"}
    assert run("sessions", "list").stdout.splitlines()[0].split()[:3] == ["SESSION", "STATUS", "MODE"]


def test_listings_need_no_registry(used, run):
    Path("tool_registry.json").unlink()
    for listing in LISTINGS:
        assert run(*listing).exit_code == 0


@pytest.mark.requirement("B-162", "B-163", "B-164", "B-165")
def test_metrics_are_prometheus_text_or_json(used, run, run_json):
    snapshot = run_json("metrics")
    assert snapshot.keys() >= {"responseSizes", "responseTokens", "context", "loopDetection"}
    assert snapshot["calls"]["get_weather"] == {"ok": 1}
    assert snapshot["context"]["toolDeclTokens"] > 0
    assert run("metrics").stdout == to_prometheus(snapshot)


MOST = 2**31 - 1


@pytest.mark.parametrize("command", ["approvals", "effects", "audit", "sessions", "calls"])
def test_a_listing_may_be_as_long_as_any_store_can_count(project, run, command):
    assert run("call", "get_weather", '{"city": "Oslo"}').exit_code == 0
    assert run(command, "list", "--limit", MOST).exit_code == 0
    result = run(command, "list", "--limit", MOST + 1)
    assert result.exit_code == 2
    assert "2147483647" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("call", "\udcff"),
        ("call", "get_weather", "{}", "--session", "\udcff"),
        ("call", "get_weather", "{}", "--call-id", "\udcff"),
        ("call", "get_weather", "{}", "--idempotency-key", "\udcff"),
        ("calls", "list", "--session", "\udcff"),
        ("calls", "list", "--tenant", "\udcff"),
        ("approvals", "approve", "\udcff"),
        ("approvals", "deny", "x", "--note", "\udcff"),
        ("effects", "reconcile", "\udcff", "--happened"),
        ("effects", "reconcile", "x", "--happened", "--result", '"\udcff"'),
        ("tools", "show", "\udcff"),
    ],
)
def test_an_id_that_is_not_utf8_is_a_usage_error(project, run, args):
    assert run("call", "get_weather", '{"city": "Oslo"}').exit_code == 0
    result = run(*args)
    assert result.exit_code == 2
    assert "it is not UTF-8" in result.stderr
