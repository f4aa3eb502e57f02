"""CDS Hooks 2.0: record systems ask while a clinician works, and receive cards. No address in a request is fetched."""

from dx2px.service.cds.routes import add_cds

__all__ = ["add_cds"]
