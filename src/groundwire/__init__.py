"""Write a tool once, offer it to any model, and have every call checked, run at most once, and recorded."""

__version__ = "0.1.0"
