"""Attacks on the store's file while a server uses it."""

from functools import partial

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.processes import wait_until
from scripts.attack.project import Project, Server, Tool

STORE = "groundwire.db"
NOTICE_SECONDS = 8.0
"""Time in which a server without requests must notice that its file is another one."""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _delete(project: Project) -> None:
    for file in project.folder.glob(f"{STORE}*"):
        file.unlink()


def _replace(project: Project, other: Project) -> None:
    """A restored backup, say: another store under the same name."""
    other.command("calls", "list")
    _act_on_command_line(other, "elsewhere")
    _delete(project)
    for file in other.folder.glob(f"{STORE}*"):
        file.rename(project.folder / file.name)


def _act_on_command_line(project: Project, key: str) -> None:
    project.command("call", "act", f'{{"text": "{key}"}}', "--idempotency-key", key)


def _act(server: Server, key: str) -> tuple[int, bool]:
    """Status, and whether the call succeeded."""
    answer = server.call("act", {"text": key}, idempotency_key=key)
    return answer.status, answer.status == 200 and answer.json().get("ok") is True


def store_is_gone(context: AttackContext, *, is_replaced: bool) -> Outcome:
    project, other = Project(context), Project(context, "other")
    for each in (project, other):
        each.write_tools(Tool(name="act", category="action", parameters=TEXT, handler=each.witness.handler()))
        each.build_all()
    server = project.serve()
    if not _act(server, "before")[1]:
        raise SetupError("a call fails before the attack")
    if is_replaced:
        _replace(project, other)
    else:
        _delete(project)

    faults = []
    status, is_done = _act(server, "same")
    _act_on_command_line(project, "same")
    executed = project.witness.count("same")
    if is_done:
        faults.append("the server executed a call without its store")
    elif status != 503:
        faults.append(f"the call is refused with {status}, not 503")
    if executed > 1:
        faults.append(f"one idempotency key was executed {executed} times")
    patience = 0 if faults else NOTICE_SECONDS
    if not wait_until(lambda: _readiness(server) == 503, patience):
        faults.append("/health/ready says that it is ready")
    if not server.is_live():
        faults.append("/health/live fails")
    return conclude(faults, f"503 and not ready; two processes executed the key {executed} time(s)")


def store_is_gone_while_idle(context: AttackContext) -> Outcome:
    """Without any request, too: load balancers go by what `/health/ready` says."""
    project = Project(context)
    project.write_tools(Tool(name="act", category="action", parameters=TEXT, handler=project.witness.handler()))
    project.build_all()
    server = project.serve()
    _act(server, "before")
    _delete(project)
    is_noticed = wait_until(lambda: _readiness(server) == 503, NOTICE_SECONDS, every=0.5)
    faults = [] if is_noticed else [f"/health/ready says that it is ready {NOTICE_SECONDS:.0f} s later"]
    return conclude(faults, "/health/ready says that it is not ready")


def _readiness(server: Server) -> int:
    answer = server.try_send("GET", "/health/ready")
    return 0 if answer is None else answer.status


ATTACKS = (
    Attack(
        name="store-deleted",
        aim="The store's file is deleted, and a second process uses the same idempotency key.",
        run=partial(store_is_gone, is_replaced=False),
        seconds=40,
        usual_seconds=2,
    ),
    Attack(
        name="store-replaced",
        aim="The store's file is replaced by another one, and a second process uses the same idempotency key.",
        run=partial(store_is_gone, is_replaced=True),
        seconds=40,
        usual_seconds=2,
    ),
    Attack(
        name="store-deleted-idle",
        aim="The store's file is deleted under a server that has nothing to do.",
        run=store_is_gone_while_idle,
        seconds=30,
        usual_seconds=3,
    ),
)
