"""`groundwire jobs`: work that was left for later, and a process that does it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.options import (
    TEXT,
    built_option,
    global_options,
    json_option,
    limit_option,
    tenant_option,
    tools_option,
)
from groundwire.cli.output import note, pretty_json, print_json, print_table, print_text
from groundwire.extras import check_extra

if TYPE_CHECKING:
    from groundwire.assembly import Runtime
    from groundwire.jobs import Job, Jobs

T = TypeVar("T")

STATUSES = ("waiting", "running", "done", "failed", "cancelled")
ROW_CHARS = 60


@click.group()
def jobs() -> None:
    """List, retry, cancel and process background jobs."""


@jobs.command("list")
@click.option("--status", type=click.Choice([*STATUSES, "all"]), default="all", show_default=True)
@click.option("--kind", type=TEXT, metavar="KIND", help="Only jobs of this kind, such as `tool`.")
@click.option("--before", type=TEXT, default="", metavar="ID", help="Go on after this one, the last of a listing.")
@limit_option
@tenant_option
@json_option
@global_options()
def list_jobs(status: str, kind: str | None, before: str, limit: int, tenant: str, *, as_json: bool) -> None:
    """List jobs, the newest first. Those that `failed` are tried again only when somebody says so."""
    from groundwire.cli.records import show_time
    from groundwire.cli.runs import shorten
    from groundwire.jobs import JobStatus
    from groundwire.runtime.showing import show_record

    wanted = None if status == "all" else JobStatus(status)
    found = _ask(lambda kept: kept.list(tenant=tenant, kind=kind, status=wanted, before=before, limit=limit))
    if as_json:
        print_json([show_record(job) for job in found])
        return
    rows = [
        (
            job.job_id,
            job.kind,
            job.status.value,
            show_time(job.due_at),
            f"{job.attempt}/{job.max_attempts}",
            job.key or "-",
            shorten(job.error, ROW_CHARS) or "-",
        )
        for job in found
    ]
    print_table(("ID", "KIND", "STATUS", "DUE", "ATTEMPT", "KEY", "ERROR"), rows, empty="There are no jobs.")


@jobs.command("show")
@click.argument("job_id", type=TEXT, metavar="ID")
@tenant_option
@json_option
@global_options()
def show_job(job_id: str, tenant: str, *, as_json: bool) -> None:
    """Show a job with what it was given, how far it is, and what came of it."""
    from groundwire.runtime.showing import show_record

    shown = show_record(_ask(lambda kept: kept.find(job_id, tenant=tenant)))
    if as_json:
        print_json(shown)
    else:
        print_text(pretty_json(shown))


@jobs.command("retry")
@click.argument("job_id", type=TEXT, metavar="ID")
@tenant_option
@json_option
@global_options()
def retry_job(job_id: str, tenant: str, *, as_json: bool) -> None:
    """Try a failed job again, on its whole schedule."""
    _tell(_ask(lambda kept: kept.retry(job_id, tenant=tenant)), "waits to be tried again", as_json=as_json)


@jobs.command("cancel")
@click.argument("job_id", type=TEXT, metavar="ID")
@tenant_option
@json_option
@global_options()
def cancel_job(job_id: str, tenant: str, *, as_json: bool) -> None:
    """Take a job back. One that is running is interrupted."""
    _tell(_ask(lambda kept: kept.cancel(job_id, tenant=tenant)), "is cancelled", as_json=as_json)


@jobs.command("work")
@tools_option
@built_option
@click.option("--until-idle", is_flag=True, help="Stop when nothing is running and nothing is due.")
@global_options()
def work(tools_dir: str | None, registry_path: str | None, *, until_idle: bool) -> None:
    """Execute background calls and resume runs, until stopped (SIGINT, SIGTERM)."""
    from groundwire.agent import Agent
    from groundwire.assembly import open_models
    from groundwire.cli.opening import read_settings, read_tools, run_with_servers
    from groundwire.runtime.task_exits import contain_task_exits

    check_extra("jobs", "`groundwire jobs`", "dbos")
    settings, registry = read_settings(), read_tools(tools_dir, registry_path)

    async def run(runtime: "Runtime") -> None:
        contain_task_exits(asyncio.get_running_loop())
        stopped = asyncio.Event()
        for sent in (signal.SIGINT, signal.SIGTERM):  # before any work begins: what has begun is finished
            asyncio.get_running_loop().add_signal_handler(sent, stopped.set)
        models = open_models(settings)
        agent = Agent("", runtime=runtime, models=models)  # each run names its own model
        try:
            await agent.work()
            note("Working on jobs.")
            await _until(stopped, runtime.jobs.idle() if until_idle else None)
        finally:
            await agent.close()
            await runtime.jobs.close()  # runs that are being executed still need their models
            await models.close()

    run_with_servers(registry, settings, run)


async def _until(stopped: asyncio.Event, idle: Awaitable[None] | None) -> None:
    ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopped.wait())]
    if idle is not None:
        ends.append(asyncio.ensure_future(idle))
    done, others = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for end in done:
        end.result()


def _ask(question: "Callable[[Jobs], Awaitable[T]]") -> T:
    """Jobs need no tools and no store: only where they are kept. Nothing is created by looking."""
    from groundwire.cli.opening import is_missing, note_missing, read_settings
    from groundwire.jobs import open_jobs
    from groundwire.jobs.opening import place_of

    check_extra("jobs", "`groundwire jobs`", "dbos")
    settings = read_settings()
    if is_missing(settings.store.url) and not Path(place_of(settings.store.url).file).exists():
        note_missing(settings.store.url)

    async def run() -> T:
        kept = open_jobs(settings.store.url, settings=settings.jobs)
        try:
            return await question(kept)
        finally:
            await kept.close()

    return asyncio.run(run())


def _tell(job: "Job", what: str, *, as_json: bool) -> None:
    from groundwire.runtime.showing import show_record

    if as_json:
        print_json(show_record(job))
    else:
        print_text(f"{job.job_id} {what}.")
