"""Keeping conversations between messages: their rows, the jobs that move them, and what happens when."""

from groundwire.apps.supplier.host.conversations import Conversation, FollowUp, SummaryRecord
from groundwire.apps.supplier.host.host import Receivers, Send, SupplierHost

__all__ = ["Conversation", "FollowUp", "Receivers", "Send", "SummaryRecord", "SupplierHost"]
