"""A model as a web service: an API for programs, CDS Hooks for record systems, a page for people. No torch."""

from dx2px.service.app import create_app
from dx2px.service.config import ServiceConfig

__all__ = ["ServiceConfig", "create_app"]
