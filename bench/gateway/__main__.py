"""The gateway beside other gateways, under the same load: `python -m bench.gateway` (`make bench-gateway`).

A Chat request with five tools goes to Gemini; the provider behind is an instant one. The gateway has one core, load and
provider have the other. What counts is CPU time per request and the ratios within one run; where other work took more than
a tenth of the core, a row is marked. Peers live in environments of their own, which `make bench-gateway` makes.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from bench.bodies import chat_request
from bench.gateway.load import KEY, Load, Loader
from bench.gateway.processes import cpu_seconds, memory_mb, running
from bench.measuring import heading, line

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("PEERS", ".venv-peers"))
GATEWAY_CORE, LOAD_CORE = 0, 1
UPSTREAM_PORT, PORT = 9401, 9480
UPSTREAM = f"http://127.0.0.1:{UPSTREAM_PORT}"
PATH = "/v1/chat/completions"
START_LIMIT = 120


class Target(Struct, frozen=True, kw_only=True):
    name: str
    command: list[str]
    environ: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    note: str = ""


class Measured(Struct, kw_only=True):
    start_seconds: float
    loads: dict[tuple[bool, int], Load] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--rounds", type=int, default=3, help="the best of them counts")
    parser.add_argument("--only", default="", help="names of targets, with commas")
    parser.add_argument(
        "--slope", type=int, default=0, metavar="REQUESTS", help="watch our memory over so many requests"
    )
    arguments = parser.parse_args()
    for program in ("wrk", "taskset"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed; it is a package of that name, or of util-linux")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _upstream(folder):
            loader = Loader(folder, core=LOAD_CORE, gateway_core=GATEWAY_CORE)
            if arguments.slope:
                _slope(loader, folder, arguments.slope)
                return
            wanted = [part for part in arguments.only.split(",") if part]
            measured = {}
            for target in _targets(folder):
                if not wanted or target.name in wanted:
                    found = _measure(target, loader, folder, arguments.seconds, arguments.rounds)
                    if found is not None:
                        measured[target.name] = found
    _compare(measured)


def _targets(folder: Path) -> list[Target]:
    granian = [sys.executable, "-m", "granian", "--interface", "rsgi", "--loop", "uvloop", "--runtime-threads", "1"]
    serve = [sys.executable, "-m", "groundwire", "serve", "--port", str(PORT), "--workers", "1"]
    bare = folder / "bare.toml"
    bare.write_text("[server]\nkeepSteps = false\n")
    ours = {
        "GEMINI_BASE_URL": UPSTREAM,
        "GEMINI_API_KEY": "k",
        "GROUNDWIRE_DEFAULT_PROVIDER": "gemini",
    }
    found = [
        Target(
            name="null",
            command=[*granian, "--host", "127.0.0.1", "--port", str(PORT), "--no-access-log", "--no-ws",
                     "--backlog", "1024", "--working-dir", str(HERE), "null_proxy:application"],
            environ={"UPSTREAM": UPSTREAM},
            note="JSON in, JSON out on the same server and client",
        ),
        Target(name="bare", command=[*serve, "--config", str(bare)], environ={**ours, "GROUNDWIRE_STORE": "memory://"},
               note="groundwire without a key, and with nothing kept"),
        Target(name="groundwire", command=serve,
               environ={**ours, "GROUNDWIRE_MASTER_KEY": KEY, "GROUNDWIRE_STORE": f"sqlite:///{folder}/bench.db"},
               note="with a key, metrics, and steps kept on SQLite"),
    ]  # fmt: skip
    litellm = PEERS / "litellm_proxy" / "bin" / "python"
    if litellm.exists():
        config = folder / "litellm.json"
        parameters = {"model": "gemini/gemini-2.5-flash", "api_base": UPSTREAM, "api_key": "k"}
        config.write_text(
            json.dumps(
                {
                    "model_list": [{"model_name": "bench", "litellm_params": parameters}],
                    "litellm_settings": {"telemetry": False, "num_retries": 0},
                    "general_settings": {"master_key": KEY, "disable_error_logs": True},
                }
            )
        )
        command = [str(litellm), "-c", "from litellm import run_server; run_server()", "--config", str(config)]
        found.append(
            Target(
                name="litellm",
                command=[*command, "--host", "127.0.0.1", "--port", str(PORT), "--num_workers", "1"],
                environ={
                    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                    "LITELLM_LOG": "ERROR",
                    "LITELLM_MODE": "PRODUCTION",
                    "NO_DOCS": "True",
                    "PYTHON_GC_THRESHOLD": "10000,50,50",
                },
            )
        )
    portkey = PEERS / "portkey" / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    if portkey.exists() and shutil.which("node"):
        found.append(
            Target(
                name="portkey",
                command=["node", str(portkey.resolve()), f"--port={PORT}", "--headless"],
                environ={"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"},
                headers={"x-portkey-provider": "google", "x-portkey-custom-host": f"{UPSTREAM}/v1beta"},
            )
        )
    return found


@contextmanager
def _upstream(folder: Path) -> Iterator[None]:
    with running(
        [sys.executable, str(HERE / "upstream.py"), str(UPSTREAM_PORT)], core=LOAD_CORE, log=folder / "up.log"
    ):
        deadline = time.monotonic() + START_LIMIT
        while not _answers(f"{UPSTREAM}/v1beta/models/m:generateContent", {}):
            if time.monotonic() > deadline:
                raise SystemExit(f"the provider did not start: {(folder / 'up.log').read_text()[-500:]}")
            time.sleep(0.05)
        yield


def _measure(target: Target, loader: Loader, folder: Path, seconds: int, rounds: int) -> Measured | None:
    heading(f"{target.name}{f' ({target.note})' if target.note else ''}")
    log = folder / f"{target.name}.log"
    url, began = f"http://127.0.0.1:{PORT}{PATH}", time.monotonic()
    with running(target.command, core=GATEWAY_CORE, log=log, environ=target.environ) as process:
        while not _answers(url, {"Authorization": f"Bearer {KEY}", **target.headers}):
            if process.poll() is not None or time.monotonic() - began > START_LIMIT:
                print(f"  not measured: it did not start: {log.read_text()[-500:]}")
                return None
            time.sleep(0.02)
        found = Measured(start_seconds=time.monotonic() - began)
        line("first answer after", found.start_seconds, "s")
        for stream in (False, True):
            loader.run(url, process.pid, target.headers, connections=16, seconds=2, stream=stream)
            for connections in (1, 64):
                tries = [
                    loader.run(
                        url, process.pid, target.headers, connections=connections, seconds=seconds, stream=stream
                    )
                    for _ in range(rounds)
                ]
                best = found.loads[stream, connections] = min(tries, key=lambda load: load.cpu_us)
                _show(best, connections, stream=stream)
    return found


def _show(load: Load, connections: int, *, stream: bool) -> None:
    contended = f"   CONTENDED: other work took {load.others:.0%} of the core" if load.others > 0.1 else ""
    errors = f"   {load.errors} ERRORS" if load.errors else ""
    print(
        f"  {'streams' if stream else 'answers'}, {connections:2} at a time: {load.cpu_us:8.0f} µs CPU,"
        f" {load.per_second:7.0f}/s, p50 {load.p50_ms:7.2f} ms, p99 {load.p99_ms:7.2f} ms,"
        f" {load.memory_mb:4.0f} MB{errors}{contended}",
        flush=True,
    )


def _compare(measured: dict[str, Measured]) -> None:
    heading("Ratios")
    null, bare = measured.get("null"), measured.get("bare")
    if null is not None and bare is not None:
        ratio = bare.loads[False, 64].cpu_us / null.loads[False, 64].cpu_us
        line("CPU of an answer ÷ null proxy, bare", ratio, "×", goal="≤ 1.8", met=ratio <= 1.8)
        line("CPU of a stream ÷ null proxy, bare", bare.loads[True, 64].cpu_us / null.loads[True, 64].cpu_us, "×")
    ours = measured.get("groundwire")
    if ours is None:
        return
    line("first answer after", ours.start_seconds, "s", goal="≤ 1", met=ours.start_seconds <= 1)
    mine = ours.loads[False, 64]
    if null is not None:
        ratio = mine.cpu_us / null.loads[False, 64].cpu_us
        line("CPU of an answer ÷ null proxy, all on", ratio, "×", goal="≤ 2.5", met=ratio <= 2.5)
        ratio = ours.loads[True, 64].cpu_us / null.loads[True, 64].cpu_us
        line("CPU of a stream ÷ null proxy, all on", ratio, "×")
        more = mine.memory_mb - null.loads[False, 64].memory_mb
        line("memory under load, above the null proxy", more, "MB", goal="≤ 20", met=more <= 20)
    for name, least, streamed in (("litellm", 40.0, 60.0), ("portkey", 6.0, None)):
        if (peer := measured.get(name)) is None:
            print(f"  not measured: {name}")
            continue
        theirs = peer.loads[False, 64]
        ratio = mine.per_second / max(theirs.per_second, 0.01)
        line(f"answers per second ÷ {name}", ratio, "×", goal=f"≥ {least:g}", met=ratio >= least)
        line(f"CPU of an answer: {name} ÷ ours", theirs.cpu_us / mine.cpu_us, "×")
        if streamed is not None:
            ratio = ours.loads[True, 64].per_second / max(peer.loads[True, 64].per_second, 0.01)
            line(f"streams per second ÷ {name}", ratio, "×", goal=f"≥ {streamed:g}", met=ratio >= streamed)
            added = ours.loads[False, 1].p50_ms / max(peer.loads[False, 1].p50_ms, 0.01)
            line(f"latency, one at a time ÷ {name}", added, "×", goal="≤ 0.1", met=added <= 0.1)


def _slope(loader: Loader, folder: Path, requests: int) -> None:
    target = next(target for target in _targets(folder) if target.name == "groundwire")
    url, headers = f"http://127.0.0.1:{PORT}{PATH}", {"Authorization": f"Bearer {KEY}"}
    heading(f"Memory over {requests} requests")
    with running(target.command, core=GATEWAY_CORE, log=folder / "ours.log", environ=target.environ) as process:
        while not _answers(url, headers):
            time.sleep(0.05)
        sizes: list[tuple[int, float]] = []
        done = 0
        while done < requests:
            done += loader.run(url, process.pid, {}, connections=64, seconds=5, stream=False).count
            sizes.append((done, memory_mb(process.pid)))
            print(f"  {done:8} requests, {sizes[-1][1]:6.1f} MB, {cpu_seconds(process.pid):6.1f} s of CPU", flush=True)
    later = [size for count, size in sizes if count > requests / 2]
    line("from the half to the end", later[-1] - later[0], "MB", goal="≤ 5", met=later[-1] - later[0] <= 5)


def _answers(url: str, headers: dict[str, str]) -> bool:
    """Whether a request gets its call."""
    body = json.dumps(chat_request()).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json", **headers})  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - ours
            return b"find_rooms" in answer.read()
    except (urllib.error.URLError, OSError):
        return False


main()
