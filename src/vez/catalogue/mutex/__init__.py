"""Mutual exclusion by messages: one algorithm, one file.

    coordinator, coordinator_lease, elected_coordinator   one process grants all requests
    quorum, quorum_retry                                  several processes grant, and a majority of them suffices
    lamport, ricart_agrawala, ricart_agrawala_priority    every process is asked; the last one is wrong, and says so
    maekawa, maekawa_fair                                 each process asks its voting set
    token_ring, suzuki_kasami, raymond, naimi_trehel      the holder of a token may enter

Imports only `vez.core`. `vez.catalogue.algorithms` lists the classes by name.
"""
