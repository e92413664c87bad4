"""Trials: a server in a process of its own, loaded by many clients, measured from outside.

plan        what is served and what is asked
host        the server's process
clients     many clients in one thread, each asking again when it was answered
trial       one run: start the host, load it, collect what both sides saw
"""
