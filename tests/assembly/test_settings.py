"""What groundwire.toml, or Python, may say; and what is said about anything else."""

import math

import pytest

from groundwire import (
    ApprovalRule,
    ApprovalSettings,
    LedgerTimes,
    PolicyRule,
    Profile,
    Registry,
    Runtime,
    Settings,
    load_settings,
)
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.tools import Budget
from groundwire.runtime.policies.limits import Overrides

YEAR = 365 * 86_400


def load(tmp_path, text):
    file = tmp_path / "groundwire.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environ={})


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "-1", f"{YEAR}.1", "true", "'long'"])
def test_a_lease_that_is_no_length_of_time_is_refused_with_what_is_allowed(tmp_path, value):
    with pytest.raises(ConfigError, match=r"ledger\.leaseSeconds: it must be a number more than 0, at most 31 536 000"):
        load(tmp_path, f"[ledger]\nleaseSeconds = {value}")


@pytest.mark.parametrize("value", [0.001, 1, YEAR])
def test_a_lease_that_is_a_length_of_time_is_taken(tmp_path, value):
    assert load(tmp_path, f"[ledger]\nleaseSeconds = {value}").ledger.lease_seconds == value


def test_not_waiting_at_all_is_allowed_but_less_is_not(tmp_path):
    assert load(tmp_path, "[ledger]\nwaitSeconds = 0").ledger.wait_seconds == 0
    with pytest.raises(ConfigError, match=r"ledger\.waitSeconds: it must be a number at least 0"):
        load(tmp_path, "[ledger]\nwaitSeconds = -0.001")


@pytest.mark.parametrize("name", ["softMs", "hardMs", "repeatLimit", "emptyLimit"])
def test_a_limit_is_at_least_one(tmp_path, name):
    load(tmp_path, f"[[policies]]\nlimits = {{ {name} = 1 }}")
    for value in ("0", "-1"):
        with pytest.raises(ConfigError, match=rf"policies\[0\]\.limits\.{name}: it must be a whole number at least 1"):
            load(tmp_path, f"[[policies]]\nlimits = {{ {name} = {value} }}")


@pytest.mark.parametrize("name", ["maxArgsBytes", "maxOutputBytes"])
def test_a_size_may_be_nothing_but_not_less(tmp_path, name):
    load(tmp_path, f"[[policies]]\nlimits = {{ {name} = 0 }}")
    with pytest.raises(ConfigError, match=rf"policies\[0\]\.limits\.{name}: it must be a whole number at least 0"):
        load(tmp_path, f"[[policies]]\nlimits = {{ {name} = -1 }}")


@pytest.mark.parametrize("value", ["nan", "-1", "-0.001", "inf"])
def test_a_budget_that_is_no_amount_is_refused(tmp_path, value):
    with pytest.raises(ConfigError, match=r"profiles\.guest\.limits\.budget\[0\]\.max: it must be a number at least 0"):
        load(tmp_path, f"[profiles.guest]\nlimits = {{ budget = [{{ name = 'calls', max = {value} }}] }}")


@pytest.mark.parametrize("value", [0, 0.5, 3])
def test_a_budget_of_any_amount_is_taken_also_of_nothing(tmp_path, value):
    settings = load(tmp_path, f"[profiles.guest]\nlimits = {{ budget = [{{ name = 'calls', max = {value} }}] }}")
    assert settings.profiles["guest"].limits.budget[0].max == value


@pytest.mark.parametrize(
    ("text", "fault", "hint"),
    [
        ("[[policies]]\nmodes = ['vocie']", "policies[0].modes[0]: 'vocie' is not one of text, voice", "voice"),
        ("[[policies]]\nlimits = { grounding = 'strikt' }", "'strikt' is not one of off, report, strict", "strict"),
        ("[store]\nurll = 'memory://'", "store.urll: there is no such name", "url"),
        ("[leger]\nleaseSeconds = 1", "leger: there is no such name", "ledger"),
        ("[ledger]\nlease_seconds = 1", "ledger.lease_seconds: there is no such name", "leaseSeconds"),
        ("[[policies]]\nlimits = { hardMS = 1 }", "policies[0].limits.hardMS: there is no such name", "hardMs"),
        ("[profiles.guest]\nmaxRefusal = 3", "profiles.guest.maxRefusal: there is no such name", "maxRefusals"),
        ("[profiles.guest]\n[[policies]]\nprofiles = ['gest']", "there is no profile 'gest'", "guest"),
    ],
)
def test_a_misspelt_setting_is_named_with_what_was_perhaps_meant(tmp_path, text, fault, hint):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert fault in caught.value.message
    assert caught.value.hint.startswith("did you mean")
    assert hint in caught.value.hint


def test_a_name_that_is_near_to_nothing_gets_the_list_of_names(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "[store]\nzzzzzz = 1")
    assert caught.value.hint == "known: url"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(ledger=LedgerTimes(lease_seconds=math.nan)), "ledger.leaseSeconds"),
        (Settings(ledger=LedgerTimes(confirmation_seconds=-1)), "ledger.confirmationSeconds"),
        (Settings(policies=(PolicyRule(limits=Overrides(hard_ms=-1)),)), "hardMs"),
        (Settings(policies=(PolicyRule(modes=("vocie",)),)), "'vocie' is not one of text, voice"),
        (Settings(profiles={"guest": Profile(max_refusals=0)}), "maxRefusals"),
        (Settings(profiles={"guest": Profile(limits=Overrides(budget=(Budget(name="b", max=math.nan),)))}), "max"),
        (Settings(flags={"OPEN": object()}), "object"),
    ],
)
def test_settings_made_in_python_are_held_to_the_same(settings, name):
    with pytest.raises(ConfigError) as caught:
        Runtime(Registry(), settings=settings)
    assert name in caught.value.message


def test_a_trust_file_lies_beside_the_settings_that_name_it(tmp_path):
    (tmp_path / "groundwire.toml").write_text('[trust]\nfile = "trust.json"\nunknown = "deny"\nenforced = "relax"\n')
    trust = load_settings(tmp_path / "groundwire.toml", {}).trust
    assert (trust.file, trust.unknown, trust.enforced) == (str(tmp_path / "trust.json"), "deny", "relax")
    assert trust.key_env == "GROUNDWIRE_TRUST_KEY"


@pytest.mark.parametrize("value", ["reliable", "never"])
def test_who_is_unknown_is_never_reliable(tmp_path, value):
    (tmp_path / "groundwire.toml").write_text(f'[trust]\nunknown = "{value}"\n')
    with pytest.raises(ConfigError, match=r"trust\.unknown"):
        load_settings(tmp_path / "groundwire.toml", {})


def test_self_approval_is_off_unless_settings_allow_it_for_all_or_for_keys_and_tools(tmp_path):
    assert load(tmp_path, "").approvals == ApprovalSettings(self_approval=False)
    assert load(tmp_path, "[approvals]\nselfApproval = true").approvals == ApprovalSettings(self_approval=True)
    rules = "[[approvals.rules]]\nkeys = ['key_1']\ntools = ['editor.*']\nselfApproval = true\n"
    rule = ApprovalRule(keys=("key_1",), tools=("editor.*",), self_approval=True)
    assert load(tmp_path, rules).approvals == ApprovalSettings(rules=(rule,))


@pytest.mark.parametrize(
    "text",
    [
        "[approvals]\nselfApproval = 'yes'",
        "[approvals]\nselfApprovals = true",
        "[[approvals.rules]]\ntools = ['editor.*']",
        "[[approvals.rules]]\nkey = ['key_1']\nselfApproval = true",
    ],
)
def test_a_rule_for_self_approval_that_is_not_clear_is_refused(tmp_path, text):
    with pytest.raises(ConfigError):
        load(tmp_path, text)
