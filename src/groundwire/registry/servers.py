"""What the configuration says about other servers of the Model Context Protocol, whose tools join the registry.

Only what is written down; `groundwire.mcp` talks with them.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, field

from groundwire.contracts.tools import Milliseconds

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*")
"""What can stand in front of a tool's name: two underscores divide the parts of a name."""


class McpServerSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Another server, under `[mcpServers.NAME]`: a command to start, or a URL to call.

    `env` names variables that a command gets besides the usual ones; `keyEnv` names the one with the key for a URL.
    Neither's value is written down here.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    key_env: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    allow_private: bool = False
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    hard_ms: Milliseconds | None = None
    keep_media: bool = False


def servers_fault(servers: Mapping[str, McpServerSettings]) -> str:
    """What is wrong with the servers of a configuration, in a sentence that begins with the place; else nothing."""
    for name, server in servers.items():
        place = f"mcpServers.{name}"
        if not _NAME.fullmatch(name):
            return f"{place}: a server's name has letters, digits, - and single _ only, and begins with a letter"
        if bool(server.command) == bool(server.url):
            return f"{place}: a server has either a command or a url"
        alien = ("url", "key_env", "headers") if server.command else ("args", "env", "cwd")
        for option in alien:
            if getattr(server, option):
                kind = "command" if server.command else "url"
                return f"{place}.{option.replace('key_env', 'keyEnv')}: it has no meaning for a server with a {kind}"
        if server.url and not re.match(r"https?://[^/@]+(/|$)", server.url):
            return f"{place}.url: it begins with http:// or https://, and has no user or password in it"
    return ""
