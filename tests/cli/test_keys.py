import asyncio
import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from groundwire.cli.options import os_user
from groundwire.serving.keys import KeyRing, digest_of
from groundwire.store import open_url
from groundwire.testing import FakeClock

STORE = "sqlite:///groundwire.db"


@pytest.fixture
def create(project, run):
    """The secret of a new key."""

    def create(*options):
        result = run("keys", "create", *options)
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    return create


def caller_with(secret):
    async def authenticate():
        store = open_url(STORE)
        try:
            return await KeyRing(store, FakeClock()).authenticate({"x-api-key": secret}.get)
        finally:
            await store.shut()

    return asyncio.run(authenticate())


def test_a_new_key_is_printed_alone_on_stdout_and_lets_its_holder_in(create):
    secret = create()
    assert re.fullmatch(r"gw_[A-Za-z0-9_-]{43}", secret)
    caller = caller_with(secret)
    assert (caller.tenant, caller.scopes, caller.limits) == ("default", {"models", "tools"}, ())
    assert caller.may_use_model("any/model")


def test_a_key_is_as_it_was_asked_for(create, run_json):
    create(
        *("--name", "ci", "--tenant", "acme", "--scope", "models", "--scope", "api", "--expires", "90d"),
        *("--model", "openai/*", "--model", "cheap", "--tool", "kb.*", "--default-tool", "kb.search"),
        *("--requests", "60/minute", "--requests", "5/30s", "--tokens", "1000/hour", "--money", "2.5/month"),
    )
    assert run_json("keys", "list") == []
    (key,) = run_json("keys", "list", "--tenant", "acme")
    assert (key["name"], key["scopes"], key["state"]) == ("ci", ["models", "api"], "active")
    assert (key["models"], key["tools"], key["defaultTools"]) == (["openai/*", "cheap"], ["kb.*"], ["kb.search"])
    assert key["limits"] == [
        {"unit": "requests", "max": 60, "window": "minute", "used": 0},
        {"unit": "requests", "max": 5, "window": 30, "used": 0},
        {"unit": "tokens", "max": 1000, "window": "hour", "used": 0},
        {"unit": "money", "max": 2.5, "window": "month", "used": 0},
    ]
    assert key["createdAt"] < key["expiresAt"]


def test_neither_a_list_nor_the_store_has_the_secret_or_its_digest_to_show(create, run):
    secret = create("--name", "ci")
    listed = run("keys", "list").stdout + run("keys", "list", "--json").stdout
    assert secret[:11] in listed
    assert secret[:12] not in listed
    assert "digest" not in listed
    files = [file.read_bytes() for file in Path().glob("groundwire.db*")]
    assert files
    assert not any(secret.encode() in content for content in files)


def test_json_has_the_secret_once(project, run_json):
    made = run_json("keys", "create", "--name", "ci")
    (listed,) = run_json("keys", "list")
    assert made.pop("secret").startswith(made["prefix"])
    assert listed == {**made, "state": "active"}


@pytest.mark.parametrize("by", ["id", "prefix", "secret"])
def test_a_key_is_revoked_by_id_by_its_shown_beginning_or_by_all_of_it(create, run, run_json, by):
    create("--name", "kept")
    secret = create("--name", "lost")
    key_id = run_json("keys", "list")[0]["keyId"]
    result = run("keys", "revoke", {"id": key_id, "prefix": secret[:11], "secret": secret}[by])
    assert (result.exit_code, result.stdout) == (0, f"{key_id} is revoked.\n")
    assert [(key["name"], key["state"]) for key in run_json("keys", "list")] == [
        ("lost", "revoked"),
        ("kept", "active"),
    ]


def test_what_is_no_key_of_the_tenant_is_not_revoked_and_not_repeated(create, run):
    secret = create("--tenant", "acme")
    for name in (secret, "key_none", ""):
        result = run("keys", "revoke", name)
        assert result.exit_code == 1
        assert "not_found" in result.stderr
        assert secret[:12] not in result.output
    assert run("keys", "revoke", secret, "--tenant", "acme").exit_code == 0


def test_a_key_that_is_revoked_already_is_said_to_be(create, run):
    secret = create()
    key_id = run("keys", "revoke", secret).stdout.split()[0]
    result = run("keys", "revoke", secret)
    assert (result.exit_code, result.stderr) == (1, f"error[already_decided]: {key_id} is already revoked\n")


def test_two_keys_with_the_same_beginning_are_not_taken_for_one(create, run):
    prefix, _ = create()[:11], create()
    with sqlite3.connect("groundwire.db") as connection:
        connection.execute("UPDATE api_keys SET prefix = ?", (prefix,))
    connection.close()
    result = run("keys", "revoke", prefix)
    assert result.exit_code == 1
    assert "more than one key" in result.stderr


def test_an_expired_key_is_listed_as_such(create, run_json):
    create("--expires", "0s")
    assert [key["state"] for key in run_json("keys", "list")] == ["expired"]


def test_the_list_shows_what_is_used(create, run):
    create("--requests", "60/minute")
    assert "0 of 60 requests per minute" in run("keys", "list").stdout


@pytest.mark.parametrize("limit", ["60", "60/", "/day", "x/day", "60/year", "60/0s", "-1/day", "1.5/day", "1e3/day"])
def test_a_limit_that_makes_no_sense_is_a_wrong_option(project, run, limit):
    result = run("keys", "create", "--requests", limit)
    assert result.exit_code == 2
    assert "is no limit" in result.stderr
    assert not Path("groundwire.db").exists()


@pytest.mark.parametrize("limit", ["nan/day", "inf/day", "-0.1/day"])
def test_a_budget_that_makes_no_sense_is_a_wrong_option(project, run, limit):
    assert run("keys", "create", "--money", limit).exit_code == 2


def test_a_key_is_not_made_where_it_would_be_forgotten(project, run):
    result = run("keys", "create", "--store", "memory://")
    assert result.exit_code == 2
    assert "gw_" not in result.output


def test_a_key_can_be_made_before_there_is_a_store_or_a_registry(empty, run):
    assert run("keys", "create").exit_code == 0
    assert json.loads(run("keys", "list", "--json").stdout)[0]["state"] == "active"


def test_who_made_and_revoked_a_key_is_in_the_audit_chain_and_its_secret_is_not(create, run, run_json):
    secret = create("--name", "ci")
    (key,) = run_json("keys", "list")
    assert run("keys", "revoke", key["keyId"]).exit_code == 0
    assert run("keys", "revoke", key["keyId"]).exit_code == 1
    rows = run_json("audit", "list")
    assert [(row["kind"], row["decision"], row["reason"], row["approver"]) for row in rows] == [
        ("key", "revoked", key["keyId"], os_user()),
        ("key", "created", key["keyId"], os_user()),
    ]
    assert rows[0]["input_hash"] == rows[1]["input_hash"]
    written = json.dumps(rows)
    assert not [part for part in (secret, secret[3:], key["prefix"], digest_of(secret)) if part in written]
    assert run_json("audit", "verify")["records"] == 2
    with contextlib.closing(sqlite3.connect("groundwire.db", isolation_level=None)) as database:
        database.execute("UPDATE audit SET approver = 'eve' WHERE seq = 2")
    assert run("audit", "verify").exit_code == 1


@pytest.mark.parametrize("scope", ["view", "decide"])
def test_a_key_can_be_made_to_view_or_to_decide_only(create, run_json, scope):
    create("--scope", scope)
    assert run_json("keys", "list")[0]["scopes"] == [scope]


@pytest.mark.parametrize(("name", "code"), [("x" * 256, 0), ("x" * 257, 1), ("a\nb", 1), ("a\u202eb", 1)])
def test_a_key_has_a_name_that_can_be_recorded_as_who_decided(empty, run, name, code):
    assert run("keys", "create", "--name", name).exit_code == code
