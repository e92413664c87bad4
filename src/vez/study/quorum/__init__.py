"""The size of a quorum when coordinators forget: exact probabilities, and an experiment.

    chances      the probabilities that two are inside, and that nobody can get in
    exact        probabilities as rational numbers
    experiment   the real algorithm with coordinators that forget, beside the formula
    interval     confidence intervals of an observed rate

`vez quorum` uses it.
"""
