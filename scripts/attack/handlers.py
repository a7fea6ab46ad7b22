"""Attacks by handlers that end in unusual ways."""

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.project import Project, Tool

RAISED = ("SystemExit(3)", "GeneratorExit()", "KeyboardInterrupt()", "asyncio.CancelledError()", "BaseException('x')")
SHAPES = {
    "sync": "def execute(**arguments):\n    raise {error}\n",
    "async": "async def execute(**arguments):\n    raise {error}\n",
    "awaiting": "async def execute(**arguments):\n    await asyncio.sleep(0.01)\n    raise {error}\n",
    "streaming": "async def execute(**arguments):\n    yield {{'progress': 1}}\n    raise {error}\n",
}


def unusual_exceptions(context: AttackContext) -> Outcome:
    """Whatever a handler raises, the caller gets an envelope, and the call is on record."""
    project = Project(context)
    for error in RAISED:
        for shape, code in SHAPES.items():
            for category in ("action", "utility"):
                name = f"{error.partition('(')[0].replace('.', '_')}_{shape}_{category}".lower()
                handler = f"import asyncio\n\n\n{code.format(error=error)}"
                project.write_tools(Tool(name=name, category=category, handler=handler))
    project.build_all()
    server = project.serve()
    faults = []
    names = sorted(folder.name for folder in project.tools.iterdir())
    for name in names:
        headers = {"x-groundwire-call-id": f"call-{name}"}
        answer = server.try_send("POST", "/api/calls", {"tool": name}, headers, timeout=5)
        if answer is None:
            faults.append(f"{name}: no response")
        elif answer.status != 200 or "error" not in answer.json():
            faults.append(f"{name}: status {answer.status} with {len(answer.body)} bytes, no envelope")
        record = server.try_send("GET", f"/api/calls/call-{name}", timeout=5)
        if record is None or record.status != 200:
            faults.append(f"{name}: no record")
    return conclude(faults, f"{len(names)} handlers gave an envelope and a record each")


ATTACKS = (
    Attack(
        name="handler-exceptions",
        aim="Handlers raise SystemExit, GeneratorExit, KeyboardInterrupt and the like.",
        run=unusual_exceptions,
        seconds=60,
        usual_seconds=3,
    ),
)
