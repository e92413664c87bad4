"""The verification matrix: every algorithm against every kind of fault, and its page.

    matrix, recipes   the algorithms and recipes, with the worlds and bounds of each
    world             a kind of fault, and the question to the checker
    run               all rows, one after another
    finished_rows     rows in a file, so that an interrupted run can continue
    page              the matrix as Markdown

`vez verify` uses it.
"""
