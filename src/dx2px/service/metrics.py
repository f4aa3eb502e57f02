"""Counts and durations for Prometheus. Labels are route templates, methods and outcomes, never codes or patients."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from dx2px.service.served import Served
from dx2px.service.shared_figures import SharedFigures

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """One registry per service, so that two services in a process stay apart.

    Args:
        shared: Where workers that serve together keep their figures; each then shows the sums.
    """

    def __init__(self, shared: SharedFigures | None = None) -> None:
        self._shown = CollectorRegistry()
        if shared is None:
            ProcessCollector(registry=self._shown)
            GCCollector(registry=self._shown)
        else:
            self._shown.register(shared)
        own = self._shown if shared is None else None
        self._requests = Counter(
            "dx2px_requests", "Requests answered.", ["method", "route", "status"], registry=own
        )
        self._seconds = Histogram(
            "dx2px_request_seconds", "Time to an answer.", ["route"], buckets=_SECONDS, registry=own
        )
        self._waiting = Gauge(
            "dx2px_requests_under_way", "Requests being answered.", registry=own, multiprocess_mode="livesum"
        )
        self._reloads = Counter("dx2px_reloads", "Reloads of the model.", ["outcome"], registry=own)
        self._feedback = Counter(
            "dx2px_cds_feedback", "CDS Hooks feedback.", ["service", "outcome"], registry=own
        )
        self._entries = Counter(
            "dx2px_fhir_entries", "Entries of prefetched bundles.", ["outcome"], registry=own
        )
        self._lost = Counter(
            "dx2px_workers_lost", "Workers that ended unasked, and were replaced.", registry=own
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

    def lost_worker(self) -> None:
        """A worker ended unasked."""
        self._lost.inc()

    def watch(self, served: Served) -> None:
        """Report the sizes of the model in use, and since when it has been in use."""
        self._shown.register(_Model(served))

    def under_way(self, count: int) -> None:
        """The number of requests being answered."""
        self._waiting.set(count)

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._shown)


class _Model:
    """What is in use in the process that is asked."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def collect(self) -> Iterator[Metric]:
        files = self._served.answers.model.files
        yield GaugeMetricFamily("dx2px_model_diagnoses", "Diagnoses known.", len(files.diagnoses))
        yield GaugeMetricFamily("dx2px_model_procedures", "Procedures known.", len(files.procedures))
        yield GaugeMetricFamily(
            "dx2px_model_loaded_seconds", "When the model was loaded.", self._served.since
        )
