"""The Model Context Protocol, both ways: our tools for its clients, and the tools of other servers for us.

It translates the protocol only. What may run, and how often, is the runtime's business. Needs the extra `mcp`.
"""

from groundwire.mcp.door import Door
from groundwire.mcp.http import HttpDoor, mcp_app, mcp_routes
from groundwire.mcp.stdio import serve_stdio
from groundwire.mcp.upstream.servers import McpServers

__all__ = ["Door", "HttpDoor", "McpServers", "mcp_app", "mcp_routes", "serve_stdio"]
