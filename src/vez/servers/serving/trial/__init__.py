"""Trials: a server in a process of its own, loaded by many clients, measured from outside.

    plan        the service and the requests of a trial
    host        the server's process
    clients     many clients in one thread; each sends its next request after the answer
    trial       one run: start the host, load it, collect the measurements of both sides

Imports the rest of `vez.servers.serving`.
"""
