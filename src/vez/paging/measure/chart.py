"""The cost of every page as a picture: rows visited and time, over the number of the page."""

from __future__ import annotations

from collections.abc import Sequence

from vez.draw.chart import Axis, Chart, Panels, Series
from vez.paging.measure.pages import Cost


def chart(costs: Sequence[Cost], page: int) -> Panels:
    """Two charts with a curve for each way."""
    across = Axis(f"page of {page} rows")
    return Panels(
        "What each page costs",
        (
            Chart("rows that the database visits", across, Axis("rows"), tuple(
                Series(cost.way, tuple(enumerate(cost.visited, start=1))) for cost in costs)),
            Chart("time that the client waits", across, Axis("milliseconds", "log"), tuple(
                Series(cost.way, tuple(enumerate(cost.milliseconds, start=1))) for cost in costs)),
        ),
    )  # fmt: skip
