"""From options to an application that runs: agents, host, receivers, a worker for its jobs, and its endpoints."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from msgspec import Struct, field

from groundwire import Provider, Runtime
from groundwire.apps.supplier.agents import Roles, SupplierAgents
from groundwire.apps.supplier.contracts import GroundingMode
from groundwire.apps.supplier.host import Receivers, Send, SupplierHost
from groundwire.apps.supplier.media import Transcriber
from groundwire.apps.supplier.pipeline import Pipeline
from groundwire.apps.supplier.service import supplier_endpoints
from groundwire.apps.supplier.signals.endpoints import open_signal_endpoints
from groundwire.apps.supplier.signals.outbox import Outbox, SignalEndpoint
from groundwire.apps.supplier.signals.receivers import FileReceiver
from groundwire.apps.supplier.signals.tables import SignalTables
from groundwire.apps.supplier.statuses import Silence
from groundwire.apps.supplier.timing import OFFICE
from groundwire.jobs import Jobs
from groundwire.serving import About, Endpoint, WebhookSender

ABOUT = About(
    title="Supplier negotiation", description="Talks with suppliers, captures what they say, and tells operations."
)


class SupplierOptions(Struct, frozen=True, kw_only=True):
    """`brain` is where signals are sent; else they go into `signal_log`; else they stay with their conversation.

    With `working_hours`, only Chinese office hours count as silence.
    """

    roles: Roles = field(default_factory=Roles)
    grounding: GroundingMode = GroundingMode.STRICT
    silence_hours: float = 24.0
    working_hours: bool = False
    brain: SignalEndpoint | None = None
    signal_log: str = ""


@asynccontextmanager
async def open_supplier(
    runtime: Runtime,
    jobs: Jobs,
    models: Provider,
    options: SupplierOptions,
    *,
    send: Send | None = None,
    transcriber: Transcriber | None = None,
) -> AsyncIterator[tuple[SupplierHost, Sequence[Endpoint]]]:
    """The host and its endpoints, with a worker beside them until the end. The runtime has the application's tools."""
    agents = SupplierAgents(runtime, models, options.roles)
    pipeline = Pipeline(
        agents,
        grounding=options.grounding,
        transcriber=transcriber,
        silence=Silence(
            window=timedelta(hours=options.silence_hours), working_hours=OFFICE if options.working_hours else None
        ),
    )
    async with AsyncExitStack() as stack:
        outboxes = _outboxes(runtime, jobs, options, stack)
        signals = await open_signal_endpoints(runtime.database)
        host = SupplierHost(pipeline, jobs, outboxes or _log(runtime, options), send=send)
        await host.open()
        stack.push_async_callback(jobs.close)
        handlers = host.handlers()
        await jobs.start({**handlers, **outboxes("default").handlers} if outboxes is not None else handlers)
        yield host, (*supplier_endpoints(host, pipeline), *signals)


def _outboxes(
    runtime: Runtime, jobs: Jobs, options: SupplierOptions, stack: AsyncExitStack
) -> Callable[[str], Outbox] | None:
    endpoint = options.brain
    if endpoint is None:
        return None
    sender = WebhookSender(allow=endpoint.allow, clock=runtime.clock)
    stack.push_async_callback(sender.close)
    tables = SignalTables(runtime.database)
    return lambda tenant: Outbox(tables, jobs, sender, endpoint, tenant=tenant, now=runtime.clock.now)


def _log(runtime: Runtime, options: SupplierOptions) -> Receivers | None:
    if not options.signal_log:
        return None
    receiver = FileReceiver(options.signal_log, now=runtime.clock.now)
    return lambda _: receiver
