import pytest

from groundwire.runtime.policies.self_approval import ApprovalRule, ApprovalSettings, may_approve

OWN = {"requested_by": "key_1", "decided_by": "key_1"}


def test_a_key_may_approve_what_another_key_requested_but_not_its_own_calls():
    assert may_approve(ApprovalSettings(), tool_id="t", requested_by="key_2", decided_by="key_1")
    assert not may_approve(ApprovalSettings(), tool_id="t", **OWN)


@pytest.mark.parametrize("requested_by", ["", "local", "key_1"])
def test_a_decision_without_a_key_is_not_restricted(requested_by):
    assert may_approve(ApprovalSettings(), tool_id="t", requested_by=requested_by, decided_by="")


def test_the_call_of_a_python_program_may_be_approved_with_any_key():
    assert may_approve(ApprovalSettings(), tool_id="t", requested_by="", decided_by="key_1")


def test_settings_allow_it_for_all():
    assert may_approve(ApprovalSettings(self_approval=True), tool_id="t", **OWN)


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (ApprovalRule(self_approval=True), True),
        (ApprovalRule(keys=("key_1",), self_approval=True), True),
        (ApprovalRule(keys=("key_2",), self_approval=True), False),
        (ApprovalRule(keys=("key_*",), self_approval=True), False),
        (ApprovalRule(tools=("editor.*",), self_approval=True), True),
        (ApprovalRule(tools=("editor__*",), self_approval=True), True),
        (ApprovalRule(tools=("mail.*",), self_approval=True), False),
        (ApprovalRule(keys=("key_1",), tools=("editor.*",), self_approval=True), True),
        (ApprovalRule(keys=("key_2",), tools=("editor.*",), self_approval=True), False),
        (ApprovalRule(keys=("key_1",), tools=("mail.*",), self_approval=True), False),
    ],
)
def test_a_rule_allows_it_for_the_keys_and_tools_that_it_names(rule, allowed):
    assert may_approve(ApprovalSettings(rules=(rule,)), tool_id="editor.save", **OWN) is allowed


def test_the_last_rule_that_applies_decides():
    rules = (
        ApprovalRule(tools=("editor.*",), self_approval=True),
        ApprovalRule(tools=("editor.delete",), self_approval=False),
    )
    settings = ApprovalSettings(rules=rules)
    assert may_approve(settings, tool_id="editor.save", **OWN)
    assert not may_approve(settings, tool_id="editor.delete", **OWN)
    stricter = ApprovalSettings(self_approval=True, rules=(ApprovalRule(keys=("key_1",), self_approval=False),))
    assert not may_approve(stricter, tool_id="editor.save", **OWN)
