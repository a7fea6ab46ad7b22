"""Negotiating with suppliers by chat, each captured fact tied to the words that were said.

Knows neither the other applications nor how the runtime keeps its promises.
"""
