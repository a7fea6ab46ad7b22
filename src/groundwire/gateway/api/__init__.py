"""/api: what is recorded, what waits for a person, and calls of tools, over HTTP.

The same things that the command line shows, in the same form. Knows the runtime, but no model and no dialect.
"""

from groundwire.gateway.api.audits import audit_endpoints
from groundwire.gateway.api.calling import calling_endpoints
from groundwire.gateway.api.decisions import decision_endpoints
from groundwire.gateway.api.jobs import job_endpoints
from groundwire.gateway.api.records import record_endpoints
from groundwire.gateway.api.runs import run_endpoints
from groundwire.runtime.runtime import Runtime
from groundwire.serving.endpoints import Endpoint

__all__ = ["api_endpoints"]


def api_endpoints(runtime: Runtime) -> list[Endpoint]:
    return [
        *run_endpoints(runtime),
        *record_endpoints(runtime),
        *calling_endpoints(runtime),
        *decision_endpoints(runtime),
        *job_endpoints(runtime),
        *audit_endpoints(runtime),
    ]
