"""The engines for threads are equal to the output of `tools/unasync.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import unasync

SOURCE = '''"""Waits for tasks; `TaskPump` too."""
from vez.locks.engines.network.task_pump import TaskPump

class NetworkAsyncEngine:
    async def take(self, tasked: AsyncStream) -> list[int]:
        """A task that waits."""
        async with self.lock:
            text = "a task awaits"  # the task
            return [await one async for one in (await self.all()).each]
'''
RESULT = '''"""Waits for threads; `ThreadPump` too."""
from vez.locks.engines.network.thread_pump import ThreadPump

class NetworkEngine:
    def take(self, tasked: Stream) -> list[int]:
        """A thread that waits."""
        with self.lock:
            text = "a task awaits"  # the thread
            return [one for one in (self.all()).each]
'''


def test_what_waits_is_written_for_threads() -> None:
    assert unasync.for_threads(SOURCE) == RESULT
    assert unasync.for_threads(RESULT) == RESULT


def test_docstrings_of_many_lines_keep_their_lines() -> None:
    text = 'class A:\n    b = 1\n    """Of a task,\n    and of tasks."""\n'
    assert unasync.for_threads(text) == 'class A:\n    b = 1\n    """Of a thread,\n    and of threads."""\n'


def test_generated_files_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ruff", reason="ruff formats what is generated")
    assert unasync.main(["--check"]) == 0, capsys.readouterr().err


def test_generated_files_say_how_they_were_made() -> None:
    for source, to in unasync.FILES.items():
        first = (unasync.ROOT / to).read_text(encoding="utf-8").splitlines()[0]
        assert first == unasync.HEADER.format(source=source.name).strip()


def test_a_file_that_is_not_current_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ruff", reason="ruff formats what is generated")
    monkeypatch.setattr(unasync, "ROOT", tmp_path)
    monkeypatch.setattr(unasync, "FILES", {Path("tasks.py"): Path("threads.py")})
    (tmp_path / "tasks.py").write_text("async def go() -> None:\n    await go()\n", encoding="utf-8")
    assert unasync.main(["--check"]) == 1
    assert "threads.py is not current" in capsys.readouterr().err
    assert unasync.main([]) == 0
    assert unasync.main(["--check"]) == 0
    assert (tmp_path / "threads.py").read_text(encoding="utf-8").endswith("\ndef go() -> None:\n    go()\n")
    (tmp_path / "threads.py").write_text("def go() -> None: ...\n", encoding="utf-8")
    assert unasync.main(["--check"]) == 1
    assert unasync.main(["--quick"]) == 64
