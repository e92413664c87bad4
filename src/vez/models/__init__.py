"""Models: parts of vez as processes of `vez.core`, so that the checker explores every run of them.

`vez check table:NAME` explores the turn table (`vez.table`): `server.py` holds its value, three clients send it
commands, and a referee (`referee.py`) judges every step. `configurations.py` lists what is asked.

`vez check recipe:NAME` explores how clients of a server take turns: see `vez.models.recipes`.
"""

from __future__ import annotations

from vez.models.configurations import CONFIGURATIONS, PREFIX, find_model
from vez.models.server import Question, TableModel

__all__ = ["CONFIGURATIONS", "PREFIX", "Question", "TableModel", "find_model"]
