"""Nodes: one Process in one operating-system process, on real sockets.

The pump adds no protocol rules. In this list a module uses only modules of earlier rows (`tests/node/test_edges.py`
holds this); those above the line do no I/O:

    limits          sizes and rates
    identity        what nodes of one group must agree on
    frames          length-prefixed msgpack, decoded by the message table of the class
    handshake       challenge, hello, welcome: who is there, and may it talk to us
    link            numbers, acknowledgements and resend buffers of a pair of incarnations
    group           the members, their addresses and keys, from a file or a list
    conditions      what a scenario does to messages, timers and choices
    plan            how a node is started
    ----
    log             one line on standard error for what an operator should know
    output          lines on standard output, for which the node never waits
    durable         durable fields on disk
    journal         the events of this incarnation on disk
    resource        a file that refuses writes with old tokens
    sockets         listening and dialling: Unix sockets, loopback with a key, TLS
    certificates    an authority, and a certificate for each node
    connection      one connection: handshake, then frames, with limits
    doors           TLS handshakes of those who connect
    waiting         what arrived and is delivered later, as if the network were slow
    channel         the way to one peer: a link, and reconnects
    transport       all connections of a node
    timers          timers on the monotonic clock
    detection       the failure detectors of `vez.detectors` with real heartbeats
    application     what uses the algorithm: wants, stays, elections
    pump            calls handlers, stores, records, and does what they asked for
    control         commands, as lines from standard input or a control socket
    node            puts the parts together
"""
