"""Attacks by compressed bodies."""

import gzip
import threading
import zlib
from collections.abc import Sequence

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.health import HealthMonitor
from scripts.attack.http_client import Response
from scripts.attack.project import Project, Server, Tool

BODIES = 12
BODY_BYTES = 60_000_000
MAX_MEMORY_MB = 2000
MAX_MEMORY_OF_REFUSALS_MB = 500
PATIENCE = 30.0
PATH = "/v1/chat/completions"


def _serve(context: AttackContext) -> Server:
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    return project.serve()


def _request(padding: bytes) -> bytes:
    """A valid request with a member that the server does not know."""
    return b'{"model":"sim","messages":[{"role":"user","content":"Hi"}],"padding":"' + padding + b'"}'


def _send_at_once(server: Server, bodies: Sequence[bytes], encoding: str) -> list[Response | None]:
    answers: list[Response | None] = []
    headers = {"content-type": "application/json", "content-encoding": encoding}
    threads = [
        threading.Thread(
            target=lambda body=body: answers.append(server.try_send("POST", PATH, body, headers, timeout=PATIENCE))
        )
        for body in bodies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def many_large_bodies(context: AttackContext) -> Outcome:
    """The ratio is that of ordinary text, so that only the work of unpacking counts."""
    words = [f"{context.random.getrandbits(40):x}" for _ in range(20_000)]
    page = " ".join(context.random.choice(words) for _ in range(40_000)).encode()
    size = BODY_BYTES // 4 if context.is_sample else BODY_BYTES
    plain = _request((page * (size // len(page) + 1))[:size])
    body = gzip.compress(plain, 1)
    server = _serve(context)
    with HealthMonitor(server, max_memory_mb=MAX_MEMORY_MB) as health:
        answers = _send_at_once(server, [body] * BODIES, "gzip")
    faults = health.faults()
    if silent := answers.count(None):
        faults.append(f"{silent} of {BODIES} requests got no response")
    statuses = sorted({answer.status for answer in answers if answer is not None})
    if any(status >= 500 and status != 503 for status in statuses):
        faults.append(f"statuses {statuses}")
    ratio = len(plain) / len(body)
    return conclude(
        faults, f"{BODIES} bodies of {size // 10**6} MB (ratio {ratio:.0f}) were answered with {statuses}; {health}"
    )


def extreme_ratio(context: AttackContext) -> Outcome:
    """A few kilobytes that unpack to the allowed size, once and twice compressed, must be refused early."""
    plain = _request(b"a" * BODY_BYTES)
    once = gzip.compress(plain, 9)
    bodies = {"gzip": once, "deflate": zlib.compress(plain, 9), "gzip, gzip": gzip.compress(once, 9)}
    server = _serve(context)
    faults = []
    memory = 0
    for encoding, body in bodies.items():
        with HealthMonitor(server, max_memory_mb=MAX_MEMORY_OF_REFUSALS_MB) as health:
            answers = _send_at_once(server, [body] * BODIES, encoding)
        memory = max(memory, health.memory_mb)
        faults += health.faults()
        accepted = [answer for answer in answers if answer is None or answer.status not in (400, 413, 415, 503)]
        if accepted:
            shown = "no response" if accepted[0] is None else f"status {accepted[0].status}"
            faults.append(f"{encoding}, ratio {len(plain) // len(body)}: {len(accepted)} of {BODIES} got {shown}")
        if faults:
            break
    return conclude(faults, f"ratios from {len(plain) // len(once)} are refused; memory at most {memory} MB")


ATTACKS = (
    Attack(
        name="gzip-large-bodies",
        aim=f"{BODIES} compressed bodies of {BODY_BYTES // 10**6} MB come at once.",
        run=many_large_bodies,
        seconds=60,
        usual_seconds=8,
    ),
    Attack(
        name="gzip-extreme-ratio",
        aim="Bodies of some kilobytes unpack to 60 MB.",
        run=extreme_ratio,
        seconds=60,
        usual_seconds=4,
    ),
)
