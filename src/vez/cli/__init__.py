"""The command line: `vez`. The command `vez NAME` is in the file `NAME.py`; `vez break` is in `break_lock.py`.

    program       the program: how a command line is run, errors and exit codes; `encoding`: output on every terminal
    app           the commands as click has them; `vez run` and `vez status` mostly do without it
    check_…, cluster_…, sim_…, state_…, threads_…   further parts of those commands, such as `check_search`: a search
                  from the options of `vez check`
    parameters    the words that users type, read and checked
    printing      tables, reports, pictures and progress that users read
    demo          `make demo`

A command is imported when it is used, so `vez --help` imports none. The room imports every other room. No other room
may import it.
"""

from vez.cli.program import main

__all__ = ["main"]
