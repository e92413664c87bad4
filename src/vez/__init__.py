"""vez: whose turn is it?

Who may import whom (`tests/test_architecture.py` holds it):

    errors                                     nothing
    core        the words of a protocol        errors
    algorithms  the catalogue                  core, errors
    properties  judges of traces               core, errors
    draw        pictures of traces             core, properties, errors
    sim         virtual time and faults        core, errors
    threads     programs over shared memory    errors
    check       every interleaving             core, properties, sim, threads, errors
    lab         runs, sweeps, shrinking        all of the above
    cli         the command line               all of the above
"""

__version__ = "0.1.0"
