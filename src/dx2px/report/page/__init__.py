"""The report of a model: one page that opens without a network."""

from dx2px.report.page.content import Content, ReportConfig, measure
from dx2px.report.page.document import report_page, save_report

__all__ = ["Content", "ReportConfig", "measure", "report_page", "save_report"]
