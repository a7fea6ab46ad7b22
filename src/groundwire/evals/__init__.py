"""Finding out which models may be trusted with which tools: scenarios, trials, graders, statistics, reports.

Trials go through the public Agent, and are judged by what it gives back. Never reaches into a run to make one pass.
"""
