"""vez.metrics: the metrics of a client, for Prometheus and OpenTelemetry; the code is in `vez.locks.exporters`."""

from vez.locks.exporters import Distribution, Metrics, Reading, opentelemetry, prometheus

__all__ = ["Distribution", "Metrics", "Reading", "opentelemetry", "prometheus"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
