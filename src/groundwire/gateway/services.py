"""What every endpoint of the gateway needs, made once per process."""

from msgspec import Struct

from groundwire.agent import Agent
from groundwire.codecs.caching import ToolCache
from groundwire.contracts.ports import Clock
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.steps import Steps
from groundwire.gateway.threads import Threads
from groundwire.providers.router import ModelRouter


class Services(Struct, frozen=True, kw_only=True):
    """`agent` runs the loop for requests that name tools of the server."""

    models: ModelRouter
    agent: Agent
    cache: ToolCache
    clock: Clock
    settings: ServerSettings
    steps: Steps
    threads: Threads
