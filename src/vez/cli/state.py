"""`vez state`: the gains and costs of a server that remembers its clients, measured on a paged query."""

from __future__ import annotations

from pathlib import Path

import click

from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.charts import json_option, save
from vez.cli.printing.output import console, print_json, write_file
from vez.cli.printing.progress import progress
from vez.cli.printing.table_files import write_table
from vez.errors import Misuse

COMPARISON = ("repeated", "alternated", "notices", "costs", "changes", "killed", "identities")
TOPICS: dict[str, tuple[str, ...]] = {
    "comparison": COMPARISON,
    "pages": ("costs",),
    "changes": ("changes",),
    "failures": ("killed", "moved", "alternated", "lost_replies"),
    "vanished": ("vanished",),
    "identity": ("identities",),
    "notices": ("notices",),
    "all": (*COMPARISON, "moved", "lost_replies", "vanished"),
}
"""The experiments of each topic, as names only: the code needs h11, and is loaded when it is used."""
MODELS = ("single", "thread-per-request", "pool", "staged", "loop")
CHARTS = (".svg",)


@click.command(short_help="Measure what a server pays and gains if it remembers its clients.")
@click.argument("topic", type=click.Choice(list(TOPICS)), default="comparison", metavar="[TOPIC]")
@click.option("--database", type=click.Choice(["sqlite", "postgresql"]), default="sqlite", show_default=True,
              help="PostgreSQL is started for this command, and has to be installed.")  # fmt: skip
@click.option("--rows", type=click.IntRange(20, 50_000), default=2000, show_default=True, metavar="N",
              help="Rows of the table.")  # fmt: skip
@click.option("--page", type=click.IntRange(1, 1000), default=50, show_default=True, metavar="N",
              help="Rows of a page.")  # fmt: skip
@click.option("--model", type=click.Choice(MODELS), default="pool", show_default=True,
              help="Model of the servers.")  # fmt: skip
@click.option("-o", "--output", type=OutputFile(*CHARTS, ".html", ".txt", ".md", ".json"),
              help="Write the tables to a file: .html, .txt, .md or .json; or, for pages, a chart: .svg.")  # fmt: skip
@json_option
def state(
    topic: str, database: str, rows: int, page: int, model: str, output: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Measure what a server pays and gains if it remembers its clients.

    A client reads a table in pages. Either it carries a cursor (recompute, offset, keyset), and the server remembers
    nothing, or the server keeps a view for it, in memory or in the database (stable). Servers are real processes that
    are killed for real; rows that the database visits are counted by the database.

    \b
      comparison  stateless and stateful, six rows
      pages       rows visited, time and memory
      changes     rows that come and go meanwhile
      failures    killed, moved, a lost reply
      vanished    clients that never come back
      identity    a password, token or session
      notices     told of new rows

    \b
      vez state
      vez state pages -o pages.svg
      vez state failures --database postgresql
    """
    from vez.cli.state_tables import markdown, show
    from vez.cli.state_tables import page as html_page
    from vez.servers.paging.measure.experiments import run
    from vez.servers.paging.measure.pages import cost_chart
    from vez.servers.paging.measure.shop import shop

    charted = output is not None and output.suffix.lower() in CHARTS
    if charted and topic not in ("pages", "all"):
        raise Misuse(f"{topic} has no chart", hint="a chart can be drawn of pages: vez state pages -o pages.svg")
    if 2 * page >= rows:
        raise Misuse(
            f"{rows} rows are fewer than three pages of {page}", hint="give a larger --rows or a smaller --page"
        )
    names = TOPICS[topic]
    with progress("measuring", len(names)) as step, shop(database, rows, model) as open_shop:
        found = run(open_shop, database, page, names, step)
    if output and charted:
        save(cost_chart(found.costs, page), output)
    elif output and output.suffix.lower() == ".html":
        write_file(output, html_page(found))
        click.echo(f"wrote {output}", err=True)
    elif output:
        write_table(output, lambda out: show(out, found), lambda: markdown(found), lambda: found)
    if as_json:
        print_json(found)
    else:
        show(console(), found)
