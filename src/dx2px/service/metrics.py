"""Counts and durations for Prometheus. Labels are route templates, methods and outcomes, never codes or patients."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from dx2px.service.served import Served

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """One registry per service, so that two services in a process stay apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = Counter(
            "dx2px_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "dx2px_request_seconds", "Time to an answer.", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self._waiting = Gauge("dx2px_requests_under_way", "Requests being answered.", registry=self.registry)
        self._reloads = Counter("dx2px_reloads", "Reloads of the model.", ["outcome"], registry=self.registry)
        self._feedback = Counter(
            "dx2px_cds_feedback", "CDS Hooks feedback.", ["service", "outcome"], registry=self.registry
        )
        self._entries = Counter(
            "dx2px_fhir_entries", "Entries of prefetched bundles.", ["outcome"], registry=self.registry
        )
        self._cached: dict[tuple[str, str, int], Counter] = {}
        self._cached_seconds: dict[str, Histogram] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = (method, route, status)
        if key not in self._cached:
            self._cached[key] = self._requests.labels(*map(str, key))
            self._cached_seconds[route] = self._seconds.labels(route)
        self._cached[key].inc()
        self._cached_seconds[route].observe(seconds)

    def reloaded(self, done: bool) -> None:
        """The model was replaced, or the replacement was refused."""
        self._reloads.labels("done" if done else "refused").inc()

    def fed_back(self, service: str, outcome: str) -> None:
        """A user accepted or overrode a card."""
        self._feedback.labels(service, outcome).inc()

    def read(self, outcome: str, entries: int) -> None:
        """Entries of a bundle were used or not."""
        if entries:
            self._entries.labels(outcome).inc(entries)

    def watch(self, served: Served) -> None:
        """Report the sizes of the model in use, and since when it has been in use."""

        def gauge(name: str, text: str, value: Callable[[], float]) -> None:
            Gauge(name, text, registry=self.registry).set_function(value)

        gauge("dx2px_model_diagnoses", "Diagnoses known.", lambda: len(served.answers.model.files.diagnoses))
        gauge(
            "dx2px_model_procedures", "Procedures known.", lambda: len(served.answers.model.files.procedures)
        )
        gauge("dx2px_model_loaded_seconds", "When the model was loaded.", lambda: served.since)

    def under_way(self, count: int) -> None:
        """The number of requests being answered."""
        self._waiting.set(count)

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)
