"""Load by wrk: one thread, a closed loop of connections, bodies that differ."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

from msgspec import Struct

from bench.bodies import chat_request
from bench.gateway.processes import busy_seconds, cpu_seconds, memory_mb

VARIANTS = 64
KEY = "sk-bench"
_SCRIPT = """
local bodies, place = {}, 0
function init(_)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  for name, value in os.getenv("HEADERS"):gmatch("([^\\n:]+): ([^\\n]+)") do wrk.headers[name] = value end
  for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = wrk.format(nil, nil, nil, line) end
end
function request()
  place = place % #bodies + 1
  return bodies[place]
end
function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format('\\nRESULT {"count":%d,"micros":%d,"p50":%d,"p99":%d,"errors":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
"""


class Load(Struct, frozen=True, kw_only=True):
    """What one round gave. `others` is the share of the gateway's core that other work took: above 0.1 it counts little."""

    count: int
    per_second: float
    p50_ms: float
    p99_ms: float
    errors: int
    cpu_us: float
    memory_mb: float
    others: float


class Loader:
    def __init__(self, folder: Path, *, core: int, gateway_core: int) -> None:
        self._core = core
        self._gateway_core = gateway_core
        self._script = folder / "load.lua"
        self._script.write_text(_SCRIPT)
        self._bodies: dict[bool, Path] = {}
        for stream in (False, True):
            file = self._bodies[stream] = folder / f"bodies-{stream}.ndjson"
            bodies = [{**chat_request(number), "stream": stream} for number in range(VARIANTS)]
            file.write_text("".join(json.dumps(body) + "\n" for body in bodies))

    def run(self, url: str, pid: int, headers: dict[str, str], *, connections: int, seconds: int, stream: bool) -> Load:
        sent = {"Authorization": f"Bearer {KEY}", **headers}
        environ = {
            **os.environ,
            "BODIES": str(self._bodies[stream]),
            "HEADERS": "\n".join(f"{name}: {value}" for name, value in sent.items()),
        }
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", str(self._script), url]
        began, spent, busy = time.monotonic(), cpu_seconds(pid), busy_seconds(self._gateway_core)
        done = subprocess.run(
            ["taskset", "-c", str(self._core), *command], env=environ, capture_output=True, text=True, check=False
        )
        spent, busy = cpu_seconds(pid) - spent, busy_seconds(self._gateway_core) - busy
        found = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
        if found is None:
            raise SystemExit(f"wrk gave no result: {done.stdout}{done.stderr}")
        result = json.loads(found[1])
        return Load(
            count=result["count"],
            per_second=result["count"] / (result["micros"] / 1e6),
            p50_ms=result["p50"] / 1000,
            p99_ms=result["p99"] / 1000,
            errors=result["errors"],
            cpu_us=spent * 1e6 / max(result["count"], 1),
            memory_mb=memory_mb(pid),
            others=max(0.0, (busy - spent) / (time.monotonic() - began)),
        )
