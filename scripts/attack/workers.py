"""Attacks on the processes of the server: workers that die, signals, and children that stay behind."""

import os
import signal
import time
from contextlib import suppress

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.processes import children_of, is_alive, wait_until
from scripts.attack.project import Project, Server, Tool

DEATHS = 5
BACK_SECONDS = 10.0
"""Time for a new worker, waits between attempts included."""
STOP_SECONDS = 8.0
MAX_GAP = 3.0
"""Seconds that may pass without a health check that succeeds while another worker serves."""


def worker_exits(context: AttackContext) -> Outcome:
    project = Project(context)
    project.write_tools(
        Tool(name="exits", handler="import os\n\n\ndef execute(**arguments):\n    os._exit(7)\n"), Tool(name="ordinary")
    )
    project.build_all()
    server = project.serve()
    slowest = 0.0
    for number in range(1, DEATHS + 1):
        started = time.monotonic()
        server.try_send("POST", "/api/calls", {"tool": "exits"})
        if not wait_until(lambda: not server.is_running or server.is_live(), BACK_SECONDS) or not server.is_running:
            return conclude([f"after death {number} of the worker {_state(server)}"], "")
        slowest = max(slowest, time.monotonic() - started)
    faults = [] if server.executes("ordinary") else ["afterwards, a call fails"]
    return conclude(faults, f"a new worker served after each of {DEATHS} deaths, within {slowest:.1f} s")


def worker_is_killed(context: AttackContext) -> Outcome:
    """The newest of two workers is killed again and again; the other one must go on serving."""
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    server = project.serve("--workers", "2")
    if not wait_until(lambda: len(children_of(server.pid)) >= 2, 5):
        raise SetupError("the two workers were not found")
    longest_gap = 0.0
    for number in range(1, DEATHS + 1):
        before = children_of(server.pid)
        with suppress(ProcessLookupError):
            os.kill(before[-1], signal.SIGKILL)
        gap, is_replaced = _wait_for_replacement(server, before)
        longest_gap = max(longest_gap, gap)
        if not server.is_running:
            return conclude([f"after death {number} of a worker {_state(server)}"], "")
        if not is_replaced:
            return conclude([f"after death {number}, a worker is not replaced within {BACK_SECONDS:.0f} s"], "")
    faults = [] if longest_gap < MAX_GAP else [f"no health check succeeded for {longest_gap:.1f} s"]
    if not server.executes("ordinary"):
        faults.append("afterwards, a call fails")
    return conclude(
        faults, f"{DEATHS} kills; the longest time without a successful health check was {longest_gap:.1f} s"
    )


def _wait_for_replacement(server: Server, before: list[int]) -> tuple[float, bool]:
    """The longest time without a successful health check, and whether there are as many workers again."""
    end = time.monotonic() + BACK_SECONDS
    longest, last = 0.0, time.monotonic()
    is_replaced = False
    while not is_replaced and time.monotonic() < end and server.is_running:
        is_live = server.is_live()
        longest = max(longest, time.monotonic() - last)
        if is_live:
            last = time.monotonic()
            now = children_of(server.pid)
            is_replaced = len(now) >= len(before) and before[-1] not in now
    return longest, is_replaced


def _state(server: Server) -> str:
    if server.is_running:
        return f"no worker served for {BACK_SECONDS:.0f} s"
    return f"the server ended: {server.output.strip().splitlines()[-1][:120]}"


def hangup_of_the_group(context: AttackContext) -> Outcome:
    """A closed terminal sends SIGHUP to every process; for the server it means to read its settings again."""
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    server = project.serve("--workers", "2")
    faults = []
    for number in range(1, 4):
        seen = len(server.output)
        server.signal_group(signal.SIGHUP)
        if not wait_until(lambda: "reload" in server.output[seen:].lower(), 10):  # noqa: B023 - used within the loop
            faults.append(f"SIGHUP {number}: the log says nothing of a reload")
        if not wait_until(server.is_live, 5):
            faults.append(f"SIGHUP {number}: the server is gone")
            break
    for text in ("asyncio.run()", "Traceback", "RuntimeWarning", "not reloaded"):
        if text in server.output:
            line = next(line for line in server.output.splitlines() if text in line)
            faults.append(f"the log has: {line[:120]}")
            break
    return conclude(faults, "three reloads are logged as done, without an error")


FORKS = {
    "spawned": "import subprocess\n\n\ndef execute(**arguments):\n    return {'pid': subprocess.Popen(['sleep', '60']).pid}\n",
    "forked": (
        "import os\nimport time\n\n\n"
        "def execute(**arguments):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        time.sleep(60)\n"
        "        os._exit(0)\n"
        "    return {'pid': pid}\n"
    ),
}


def child_of_a_handler(context: AttackContext) -> Outcome:
    project = Project(context)
    project.write_tools(*(Tool(name=name, category="action", handler=handler) for name, handler in FORKS.items()))
    project.build_all()
    faults = []
    for name in FORKS:
        server = project.serve()
        pid = (server.call(name).json().get("data") or {}).get("pid")
        if not isinstance(pid, int):
            raise SetupError(f"the tool {name} did not start a child")
        if not server.terminate(STOP_SECONDS):
            faults.append(f"with a {name} child, the server does not stop within {STOP_SECONDS:.0f} s")
        elif not wait_until(lambda: not is_alive(pid), 2):  # noqa: B023 - used within the loop
            faults.append(f"a {name} child outlives the server")
        server.kill()
    return conclude(faults, "children of handlers end with the server")


ATTACKS = (
    Attack(
        name="worker-exits",
        aim=f"A tool calls os._exit {DEATHS} times.",
        run=worker_exits,
        seconds=60,
        usual_seconds=10,
    ),
    Attack(
        name="worker-killed",
        aim=f"One of two workers is killed with SIGKILL {DEATHS} times.",
        run=worker_is_killed,
        seconds=60,
        usual_seconds=10,
    ),
    Attack(
        name="hangup-of-the-group",
        aim="SIGHUP reaches the server and its workers.",
        run=hangup_of_the_group,
        seconds=50,
        usual_seconds=5,
    ),
    Attack(
        name="child-of-a-handler",
        aim="A handler leaves a child process behind.",
        run=child_of_a_handler,
        seconds=40,
        usual_seconds=2,
    ),
)
