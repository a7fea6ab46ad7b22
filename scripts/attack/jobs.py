"""Attacks on background work: processes that are killed in the middle of it."""

import os
import signal
from typing import Any

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.processes import children_of, wait_until
from scripts.attack.project import Project, Server, Tool

ENDED = ("done", "failed", "cancelled")
TAKEOVER_SECONDS = 25.0


def job_is_killed(context: AttackContext) -> Outcome:
    """Once by SIGKILL to the worker, once to all processes. The action must never be executed twice."""
    project = Project(context)
    slow = project.witness.handler(then="time.sleep(2)\n    return {'done': True}")
    project.write_tools(Tool(name="slow", category="action", handler=slow, policy={"background": True}))
    project.write_settings("[ledger]\nleaseSeconds = 2\nwaitSeconds = 2\n")
    project.build_all()
    server = project.serve()
    faults, states = [], []
    for key in ("worker", "everything"):
        job_id = _begin(project, server, key)
        if key == "worker":
            _kill_worker(server)
        else:
            server.kill()
            server = project.serve()
        if not wait_until(lambda: _job(server, job_id).get("status") in ENDED, TAKEOVER_SECONDS):  # noqa: B023
            faults.append(
                f"{key} killed: the job is still {_job(server, job_id).get('status')!r} after {TAKEOVER_SECONDS:.0f} s"
            )
            continue
        if not server.is_live():
            faults.append(f"{key} killed: the server is gone")
        job = _job(server, job_id)
        states.append(f"{key} killed: {job['status']}")
        faults += _dishonest(project, server, key, job)
    return conclude(faults, f"{'; '.join(states)}; each action was begun once")


def _begin(project: Project, server: Server, key: str) -> str:
    answer = server.call("slow", {"text": key}, idempotency_key=key).json()
    job_id = (answer.get("meta") or {}).get("job")
    if not isinstance(job_id, str):
        raise SetupError(f"no job was made: {answer}")
    if not wait_until(lambda: project.witness.count(key) > 0, 15):
        raise SetupError(f"the job did not begin: {server.output[-300:]}")
    return job_id


def _kill_worker(server: Server) -> None:
    for pid in children_of(server.pid):
        os.kill(pid, signal.SIGKILL)
    wait_until(server.is_live, 10)


def _job(server: Server, job_id: str) -> dict[str, Any]:
    answer = server.try_send("GET", f"/api/jobs/{job_id}", timeout=3)
    found: dict[str, Any] = {} if answer is None else answer.json()
    return found


def _dishonest(project: Project, server: Server, key: str, job: dict[str, Any]) -> list[str]:
    """Executed twice, or reported as a success although its end is not known."""
    faults = []
    if job["status"] == "done":
        faults.append(f"{key} killed: the job is reported as done")
    server.call("slow", {"text": key}, idempotency_key=key)  # the same request again must not execute it either
    if (count := project.witness.count(key)) != 1:
        faults.append(f"{key} killed: the action was begun {count} times")
    effects = server.send("GET", "/api/effects?status=unknown").json().get("items", [])
    if not effects:
        faults.append(f"{key} killed: no effect has an unknown outcome")
    return faults


ATTACKS = (
    Attack(
        name="job-killed",
        aim="SIGKILL ends a worker, and then the whole server, while a job acts.",
        run=job_is_killed,
        seconds=80,
        usual_seconds=8,
    ),
)
