"""Measure how good the tests are: `python -m tools.mutate --sample 150 --seed 1` changes the package in small ways.

Each change, a mutation, is made alone in a scratch copy of the tree; then the tests that reach the changed line run.
The mutation is killed if one of them fails, and survives if all pass. To compare two suites over the same sources:

    python -m tools.mutate --tree BEFORE --json before.json
    python -m tools.mutate --tree AFTER --json after.json
    python -m tools.mutate --compare before.json after.json

- `operators` defines the possible changes of a statement.
- `mutations` finds the mutations and draws the sample. Both depend on the code, not on the folders that contain it.
- `reach` measures which tests reach a mutated line, and chooses those that run.
- `scratch` is the copy of the tree, with its own environment, in which pytest runs.
- `watch` records lines inside the processes of the tests; `plugin` tells it which test runs. Both are copied there.
- `report` is the JSON file of the results, their totals and the comparison of two of them.

It needs an environment with vez's `dev` packages. With Python 3.12 or newer `watch` costs next to nothing; with 3.11 it
traces every call.
"""
