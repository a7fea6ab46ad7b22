"""Background responses: stored as pending, executed as runs, and completed when their run has ended.

The pending response names its run, so any process can complete it: the one that executed the run, or the one that gets
a request for the response. Of several that try, only the first one changes the stored response.
"""

from msgspec import to_builtins

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonObject, parse_json
from groundwire.contracts.errors import NotFound
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.contracts.requests import Dialect, ModelRequest
from groundwire.contracts.runs import Outcome, RunStatus
from groundwire.gateway.approvals import MEMBER as EXTENSION
from groundwire.gateway.approvals import PendingApproval, pending_approvals
from groundwire.gateway.governed import NO_ANSWER, answered_items, finish_of
from groundwire.gateway.services import Services
from groundwire.runtime.runs.history import load_run
from groundwire.runtime.runs.state import RunState

DIALECT: Dialect = "openai-responses"
PENDING = ("queued", "in_progress")
_TAKEN_OVER = ("status", "output", "usage", "incomplete_details", "error")
"""Members that a completed run gives to a pending response; all others repeat the request and stay."""


def mark_pending(
    body: JsonObject, run_id: str, approvals: tuple[PendingApproval, ...] = (), *, status: str = "in_progress"
) -> None:
    """Change an encoded response into one that waits for a run."""
    extension: JsonObject = {"runId": run_id}
    if approvals:
        extension["approvals"] = to_builtins(approvals)
    body.update(status=status, output=[], usage=None, incomplete_details=None, error=None)
    body[EXTENSION] = extension


class BackgroundResponses:
    """Reads background responses, and completes those whose run has ended."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._codec = codec_of(DIALECT)

    async def current(self, tenant: str, response_id: str) -> bytes | None:
        """Return the response in its current state; None if it does not exist."""
        stored = await self._services.threads.response(tenant, response_id)
        if stored is None:
            return None
        body = parse_json(stored)
        if not isinstance(body, dict) or body.get("status") not in PENDING or run_of(body) == "":
            return stored
        return await self._update(tenant, response_id, stored, body)

    async def run_ended(self, tenant: str, run_id: str) -> None:
        """Complete the response that waits for this run, if there is one."""
        response_id = response_of(run_id)
        if response_id:
            await self.current(tenant, response_id)

    async def _update(self, tenant: str, response_id: str, stored: bytes, body: JsonObject) -> bytes:
        agent = self._services.agent
        run_id, clock = run_of(body), self._services.clock
        try:
            state = await load_run(agent.runtime.store, clock, tenant, run_id)
        except NotFound:  # the process was killed before it stored the run, so no client has the response's id
            body.update(status="failed", error={"code": "server_error", "message": "The response was never started."})
            return dump(body)
        status = state.run.status(clock.now())
        if status is not RunStatus.ENDED:
            is_queued = state.run.entries <= 1 and status is not RunStatus.RUNNING
            approvals: tuple[PendingApproval, ...] = ()
            if status is RunStatus.WAITING:
                requested = {approval_id: call_id for call_id, approval_id in state.waiting.items()}
                approvals = await pending_approvals(agent.runtime.store, tenant, requested)
            mark_pending(body, run_id, approvals, status="queued" if is_queued else "in_progress")
            return dump(body)
        reply = self._reply(state, response_id)
        encoded = self._codec.encode_response(reply, created=int(state.run.created_at)).body
        body.update({name: encoded[name] for name in _TAKEN_OVER if name in encoded})
        if state.run.outcome == Outcome.CANCELLED:
            body["status"] = "cancelled"
        elif state.run.outcome == Outcome.PROVIDER_ERROR:
            failure = state.failure or NO_ANSWER
            body.update(status="failed", error={"code": failure.code or "server_error", "message": failure.message})
        body[EXTENSION] = {"runId": run_id}
        completed = dump(body)
        if await self._services.threads.complete(tenant, response_id, stored, completed, state.new_items):
            await self._charge(state, reply)
        return completed

    def _reply(self, state: RunState, response_id: str) -> Reply:
        outcome = Outcome(state.run.outcome)
        clients = {tool.name for tool in state.options.client_tools}
        items = (
            [] if outcome is Outcome.PROVIDER_ERROR else answered_items(state.new_items, outcome, state.text, clients)
        )
        finish = finish_of(outcome)
        if outcome is Outcome.PROVIDER_ERROR:
            finish = Finish(reason=FinishReason.FAILED, raw=outcome.value)
        return Reply(
            reply_id=response_id, model=state.options.model, items=tuple(items), finish=finish, usage=state.usage
        )

    async def _charge(self, state: RunState, reply: Reply) -> None:
        """Count what the answer took on the limits of the key that sent the request, which the run names."""
        caller = await self._services.keys.find_caller(state.run.tenant, state.options.actor)
        if caller is not None:
            request = ModelRequest(model=state.options.model, items=tuple(state.items[: state.given]))
            await self._services.charge(caller, None, request, reply)


def run_of(body: JsonObject) -> str:
    """The id of the run that a pending response waits for; empty if it names none."""
    extension = body.get(EXTENSION)
    run_id = extension.get("runId") if isinstance(extension, dict) else None
    return run_id if isinstance(run_id, str) else ""


def new_run_id(response_id: str) -> str:
    """The id of the run of a background response, from which `response_of` gets the response's id."""
    return f"run_{response_id}"


def response_of(run_id: str) -> str:
    """The id of the background response that a run belongs to; empty for other runs."""
    return run_id.removeprefix("run_") if run_id.startswith("run_resp_") else ""
