"""A registry with one tool for everything that the door has to pass on, and a server for it on a real socket."""

import asyncio
from contextlib import asynccontextmanager

import uvicorn

from groundwire import Budget, Context, Registry, tool
from groundwire.mcp import mcp_app
from groundwire.testing import raised_when  # noqa: F401 - placeholder
