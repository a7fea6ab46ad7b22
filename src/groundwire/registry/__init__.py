"""Tools in: from functions, folders and clients' requests to one immutable, versioned registry.

Knows tools and their schemas, but not models, sessions or who is calling. Above it sits the runtime; below it are
codecs, which spell each tool in the providers' forms, and contracts.
"""

from groundwire.registry.author import ArgumentFault, Handler, Tool, tool
from groundwire.registry.registry import Registry

__all__ = ["ArgumentFault", "Handler", "Registry", "Tool", "tool"]
