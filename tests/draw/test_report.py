"""Reports as HTML pages."""

from __future__ import annotations

from vez.draw.report import Section, report


def test_code_in_sentences_is_marked_and_nothing_else_is_taken_for_markup() -> None:
    page = report("models", [Section(title="a", words=("In `single` 1 < 2 & one ` alone", "`<b>`"))])
    assert "<p>In <code>single</code> 1 &lt; 2 &amp; one ` alone</p>" in page
    assert "<p><code>&lt;b&gt;</code></p>" in page
