"""Attacks on approvals: a key approves its own call, or decides under another name."""

import json
from typing import Any

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.http_client import Response, bearer
from scripts.attack.project import Project, Server, Tool

SCOPES = ("models", "tools", "api")
FALSE_NAME = "The Owner"
SESSION = {"x-groundwire-session-id": "purchase"}


class _Shop:
    """A server with a tool that needs approval, and two keys of one tenant."""

    def __init__(self, context: AttackContext) -> None:
        self.project = Project(context)
        pay = Tool(name="pay", category="action", confirm=True, handler=self.project.witness.handler())
        self.project.write_tools(pay)
        self.project.write_settings('[simulator]\nscript = "script.json"\n')
        script = {"rules": [{"pattern": "buy", "answer": {"calls": [{"name": "pay", "arguments": {"text": "run"}}]}}]}
        (self.project.folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
        self.project.build_all()
        self.agent = self.project.create_key("agent", SCOPES)
        self.owner = self.project.create_key("owner", SCOPES)
        self.server: Server = self.project.serve()

    def pay(self) -> dict[str, Any]:
        request = {"tool": "pay", "arguments": {"text": "call"}, "asModel": True}
        answer: dict[str, Any] = self.server.send("POST", "/api/calls", request, bearer(self.agent) | SESSION).json()
        return answer

    def ask(self) -> str:
        """The id of an approval that a call of the agent's waits for."""
        try:
            found: str = self.pay()["meta"]["confirmation"]["id"]
        except (KeyError, TypeError):
            raise SetupError("the call does not wait for an approval") from None
        return found

    def approve(self, approval_id: str, key: str, body: dict[str, Any]) -> Response:
        return self.server.send("POST", f"/api/approvals/{approval_id}/approve", body, bearer(key))

    def refused_faults(self, approval_id: str) -> list[str]:
        """Approve with the agent's own key, with and without a name: neither may pass."""
        faults = []
        for body, allowed in (({}, (403,)), ({"by": FALSE_NAME}, (400, 403))):
            answer = self.approve(approval_id, self.agent, body)
            if answer.status == 200:
                faults.append(f"the key approved its own call, recorded as {answer.json().get('decidedBy', '')!r}")
            elif answer.status not in allowed:
                faults.append(f"its own approval with {json.dumps(body)} is answered with {answer.status}")
        return faults


def self_approval(context: AttackContext) -> Outcome:
    shop = _Shop(context)
    faults = shop.refused_faults(shop.ask())
    shop.pay()
    if shop.project.witness.lines():
        faults.append("the tool was executed")
    return conclude(faults, "403, and the call still waits")


def self_approval_of_a_run(context: AttackContext) -> Outcome:
    """The call is made by a model, in a run that the key started."""
    shop = _Shop(context)
    request = {"model": "sim", "messages": [{"role": "user", "content": "buy"}]}
    headers = bearer(shop.agent) | SESSION | {"x-groundwire-tools": "pay"}
    shop.server.send("POST", "/v1/chat/completions", request, headers)
    waiting = shop.server.send("GET", "/api/approvals?status=pending", headers=bearer(shop.agent)).json().get("items")
    if not waiting:
        raise SetupError("the call of the model does not wait for an approval")
    row = waiting[0]
    faults = shop.refused_faults(row.get("confirmationId") or row.get("approvalId") or row.get("id") or "")
    shop.server.send("POST", "/v1/chat/completions", request, headers)
    if shop.project.witness.lines():
        faults.append("the tool was executed")
    return conclude(faults, "403 for the key that started the run, and the call still waits")


def false_name(context: AttackContext) -> Outcome:
    """Another key may approve, but only as itself."""
    shop = _Shop(context)
    approval_id = shop.ask()
    forged = shop.approve(approval_id, shop.owner, {"by": FALSE_NAME})
    faults = []
    if forged.status == 200 and FALSE_NAME in forged.text:
        faults.append(f"recorded as {forged.json().get('decidedBy', '')!r}")
    if forged.status != 200:
        honest = shop.approve(approval_id, shop.owner, {})
        if honest.status != 200 or '"owner' not in honest.text:
            faults.append(f"an approval without `by` is answered with {honest.status}: {honest.text[:120]}")
    chain = shop.server.send("GET", "/api/audit", headers=bearer(shop.owner))
    if FALSE_NAME in chain.text and not faults:
        faults.append("the audit chain has the false name")
    if not faults and shop.pay().get("ok") is not True:
        faults.append("the approved call does not pass")
    return conclude(faults, "recorded under the name of the key")


ATTACKS = (
    Attack(
        name="self-approval",
        aim=f"A key approves its own call as {FALSE_NAME!r}.",
        run=self_approval,
        seconds=25,
        usual_seconds=1,
    ),
    Attack(
        name="self-approval-of-a-run",
        aim="A key approves the call of a model in its own run.",
        run=self_approval_of_a_run,
        seconds=25,
        usual_seconds=1,
    ),
    Attack(
        name="approval-false-name",
        aim="A key approves a call under the name of another person.",
        run=false_name,
        seconds=25,
        usual_seconds=1,
    ),
)
