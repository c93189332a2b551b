"""The report of a platform: one HTML file without a script and without a request."""

from gpuyard_advisor.cli.views.report.page import report_page

__all__ = ["report_page"]
