"""The place for rows: sessions, calls, effects, approvals, runs and the audit chain, behind the ports of contracts.

A store knows transactions and migrations, but not whether a call may run.
"""

from groundwire.store.checkpoints import CheckpointFile
from groundwire.store.memory import MemoryStore
from groundwire.store.opening import open_url

__all__ = ["CheckpointFile", "MemoryStore", "open_url"]
