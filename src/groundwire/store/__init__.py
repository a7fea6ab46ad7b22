"""The place for rows: sessions, calls, effects, approvals and the audit chain, behind the ports of contracts.

A store knows transactions and migrations, but not whether a call may run.
"""

from groundwire.store.memory import MemoryStore

__all__ = ["MemoryStore"]
