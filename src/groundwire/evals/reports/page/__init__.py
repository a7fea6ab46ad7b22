"""The report as one HTML page that needs nothing else: style, script, drawings and the trials are inside."""

from groundwire.evals.reports.page.document import write_page

__all__ = ["write_page"]
