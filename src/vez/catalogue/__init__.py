"""The catalogue: the algorithms that are written with `vez.core`, and the functions that find them by name.

    mutex, election   the textbook algorithms, one file each
    algorithms        the table of them by name
    zoo               the same algorithms, each with one plausible mistake, and a scenario that shows it
    load              finds any algorithm: of the catalogue, the zoo, a plug-in, a file of the user, or a model of the
                      locks (`table:`, `recipe:`)

Algorithms import only `vez.core`; the zoo also `vez.worlds.sim`, and `load` also `vez.locks.models`. May be imported
by: study, cli, locks.peers.
"""
