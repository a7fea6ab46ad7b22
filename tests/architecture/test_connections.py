"""Who opens connections to other machines: a new place has to think of where a request may lead it."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "groundwire"
OPENERS = frozenset(
    {
        "AsyncClient",
        "Client",
        "ClientBuilder",
        "ClientSession",
        "HTTPConnection",
        "HTTPSConnection",
        "create_connection",
        "create_datagram_endpoint",
        "open_connection",
        "open_unix_connection",
        "urlopen",
        "urlretrieve",
    }
)
KNOWN = {
    "providers/connecting.py": "to providers of the settings; a request names models, never addresses",
    "mcp/upstream/connection.py": "to servers of the settings, by public addresses unless they allow private ones",
    "serving/running.py": "to the server that this process has just started",
}


def opened_in(file):
    calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    names = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
    return names & OPENERS


def test_connections_are_opened_in_known_places_only():
    found = {file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if opened_in(file)}
    assert found == KNOWN.keys()
