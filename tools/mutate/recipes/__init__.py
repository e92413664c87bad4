"""Change the recipes of etcd in every small way: each mutant is caught, or is in a table of harmless ones.

    python -m tools.mutate.recipes                  # all of them
    python -m tools.mutate.recipes --sample 40      # some of them

It fails if a mutant survives that is not in `equivalents.toml`, and if a mutant of that table is caught or is gone.

- `operators` defines the changes: many more than those of `tools.mutate`, which draws a sample from the whole package.
- `mutants` finds the mutants and names them.
- `forked` runs each in a child process that imports the changed module.
- `judges` are the stories of the recipes, tests of their values, and the worlds of the verification matrix.
- `table` reads `equivalents.toml`.
"""
