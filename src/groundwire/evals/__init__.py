"""The place for finding out which models may be trusted with which tools: scenarios, trials, graders, reports.

It will watch runs through events and records, and never reach into the runtime to make one pass.
"""
