"""/metrics: what the store knows of calls, and what all processes have counted of requests, in two forms."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.jobs import JobStatus
from groundwire.runtime.metrics import to_prometheus
from groundwire.runtime.runtime import Runtime
from groundwire.serving.answers import JSON, json_answer
from groundwire.serving.endpoints import Asked, Endpoint

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """`requests` gives the counts of all processes: of one tenant, or with None of all."""

    def __init__(self, runtime: Runtime, requests: Callable[[str | None], Awaitable[JsonObject]]) -> None:
        self._runtime = runtime
        self._requests = requests

    async def serve(self, asked: Asked) -> Response:
        snapshot = await self._runtime.metrics(tenant=asked.tenant)
        gateway = await self._requests(None if asked.caller.has_scope("admin") else asked.tenant)
        jobs = await self._runtime.jobs.count(tenant=asked.tenant)
        if JSON in (asked.header("accept") or ""):
            return json_answer({**snapshot, "jobs": {**jobs}, "gateway": gateway})
        text = to_prometheus(snapshot) + requests_text(gateway) + jobs_text(jobs)
        return Response(text, 200, {"content-type": PROMETHEUS})


def requests_text(gateway: Any) -> str:
    """The counts of requests in Prometheus text form; all labels are ours, so none needs escaping."""
    lines = [
        "# HELP groundwire_http_requests_total Requests by route, dialect and status.",
        "# TYPE groundwire_http_requests_total counter",
    ]
    for row in gateway["requests"]:
        labels = f'route="{row["route"]}",dialect="{row["dialect"]}",status="{row["status"]}"'
        lines.append(f"groundwire_http_requests_total{{{labels}}} {row['count']}")
    lines.append(
        "# HELP groundwire_http_request_seconds Time from the first byte of a request to the end of its answer."
    )
    lines.append("# TYPE groundwire_http_request_seconds histogram")
    for row in gateway["latencyMs"]:
        labels = f'route="{row["route"]}",dialect="{row["dialect"]}"'
        for bound, count in row["buckets"].items():
            seconds = bound if bound == "+Inf" else f"{float(bound) / 1000:g}"
            lines.append(f'groundwire_http_request_seconds_bucket{{{labels},le="{seconds}"}} {count}')
        lines.append(f"groundwire_http_request_seconds_sum{{{labels}}} {row['sum'] / 1000:.6f}")
        lines.append(f"groundwire_http_request_seconds_count{{{labels}}} {row['count']}")
    if "inFlight" in gateway:
        lines.append("# HELP groundwire_http_in_flight Requests that are being worked on.")
        lines.append("# TYPE groundwire_http_in_flight gauge")
        lines.append(f"groundwire_http_in_flight {gateway['inFlight']}")
    lines.append("# HELP groundwire_upstream_failures_total Requests that a model's provider failed, by kind.")
    lines.append("# TYPE groundwire_upstream_failures_total counter")
    lines.extend(
        f'groundwire_upstream_failures_total{{kind="{kind}"}} {count}'
        for kind, count in gateway["upstreamFailures"].items()
    )
    return "\n".join(lines) + "\n"


def jobs_text(jobs: Mapping[JobStatus, int]) -> str:
    lines = ["# HELP groundwire_jobs Jobs that are kept, by status.", "# TYPE groundwire_jobs gauge"]
    lines.extend(f'groundwire_jobs{{status="{status}"}} {count}' for status, count in jobs.items())
    return "\n".join(lines) + "\n"


def metrics_endpoints(runtime: Runtime, requests: Callable[[str | None], Awaitable[JsonObject]]) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/metrics",
            name="metrics",
            summary="Counts, sizes and times of the tenant, in all processes: Prometheus text, or JSON where that is accepted."
            " Requests of all tenants with the scope admin.",
            tag="operations",
            handler=Metrics(runtime, requests).serve,
            scope="view",
            answers={200: {}},
            media=("text/plain", JSON),
        )
    ]
