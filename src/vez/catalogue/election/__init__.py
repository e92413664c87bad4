"""Leader election: one algorithm, one file.

    bully, bully_stable, luis, invitation   every process can send to every other; crashes are suspected
    majority                                terms and votes, as in Raft
    ring_anonymous, ring_collect, chang_roberts, franklin, tournament, dolev_klawe_rodeh, itai_rodeh   on rings
    yoyo                                    on connected graphs
    successive                              the base class of elections that are held again after a crash

Imports only `vez.core`. `vez.catalogue.algorithms` lists the classes by name.
"""
