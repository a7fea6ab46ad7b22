"""Reading the chat of Chinese suppliers by rules: what a message states, asks for and refuses, with its exact words.

It knows no model, no clock and no history.
"""

from groundwire.apps.supplier.reading.captures import Capture, ReadingContext, asked_goals
from groundwire.apps.supplier.reading.reader import read_message

__all__ = ["Capture", "ReadingContext", "asked_goals", "read_message"]
