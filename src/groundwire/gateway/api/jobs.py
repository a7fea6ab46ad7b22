"""Work that was left for later: lists and details; a job can be cancelled, and a dead letter tried again."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.jobs import JobStatus
from groundwire.contracts.texts import storable
from groundwire.gateway.api import schemas
from groundwire.gateway.api.resources import Resource
from groundwire.gateway.api.visibility import show_job
from groundwire.runtime.runtime import Runtime
from groundwire.serving.endpoints import Asked, Endpoint
from groundwire.serving.paging import Before, Limit, cursor_of, page, wanted_id


class JobsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    status: Literal["waiting", "running", "done", "failed", "cancelled", "all"] = "all"
    kind: Annotated[str, Meta(description="Only jobs of this kind; calls of background tools are `tool`.")] | None = (
        None
    )


class JobDesk:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def list_jobs(self, asked: Asked) -> JsonObject:
        query: JobsQuery = asked.query
        status = None if query.status == "all" else JobStatus(query.status)
        kind = None if query.kind is None else storable(query.kind)
        before = cursor_of(query.before)
        return await page(
            query.limit,
            lambda limit: self._runtime.jobs.list(
                tenant=asked.tenant, kind=kind, status=status, before=before, limit=limit
            ),
            lambda job: show_job(job, asked.caller),
            lambda job: job.job_id,
        )

    async def show_job(self, asked: Asked) -> JsonObject:
        return show_job(await self._runtime.jobs.find(_job_id(asked), tenant=asked.tenant), asked.caller)

    async def retry(self, asked: Asked) -> JsonObject:
        return show_job(await self._runtime.jobs.retry(_job_id(asked), tenant=asked.tenant), asked.caller)

    async def cancel(self, asked: Asked) -> JsonObject:
        return show_job(await self._runtime.jobs.cancel(_job_id(asked), tenant=asked.tenant), asked.caller)


def _job_id(asked: Asked) -> str:
    return wanted_id(asked.place("jobId"), "job")


_JOBS = Resource(tag="jobs", key="jobId", shape=schemas.JOB)


def job_endpoints(runtime: Runtime) -> list[Endpoint]:
    desk = JobDesk(runtime)
    jobs = "Work that was left for later, the newest first. Those that failed are dead letters."
    return [
        _JOBS.list_all("listJobs", jobs, desk.list_jobs, JobsQuery),
        _JOBS.show_one("showJob", "A job: what it was given, how far it is, and what came of it.", desk.show_job),
        _JOBS.act_on("retryJob", "Try a failed job again, on its whole schedule.", desk.retry, action="retry"),
        _JOBS.act_on("cancelJob", "Take a job back. One that is running is interrupted.", desk.cancel, action="cancel"),
    ]
