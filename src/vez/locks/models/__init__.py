"""Models: parts of vez as processes of `vez.core`, so that the checker explores every run of them.

`vez check table:NAME` explores the turn table (`vez.locks.table`): `server.py` holds its value, three clients send it
commands, and a referee (`referee.py`) judges every step. `configurations.py` lists the models, one for each name.

`vez check recipe:NAME` explores how clients of a server take turns: see `vez.locks.models.recipes`.
"""

from __future__ import annotations

from vez.locks.models.configurations import CONFIGURATIONS, PREFIX, find_model
from vez.locks.models.server import Question, TableModel

__all__ = ["CONFIGURATIONS", "PREFIX", "Question", "TableModel", "find_model"]
