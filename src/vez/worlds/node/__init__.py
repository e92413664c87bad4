"""Nodes: one Process in one operating-system process, on real sockets.

The pump adds no protocol rules. `cluster/` runs many nodes as child processes. In this list a module uses only modules
of earlier rows (`tests/worlds/node/test_edges.py` checks this); those above the line do no I/O:

    limits          sizes and rates
    identity        the settings that must be equal on all nodes of a group
    frames          length-prefixed msgpack, decoded by the message table of the class
    handshake       challenge, hello, welcome: identifies and authenticates a peer
    link            numbers, acknowledgements and resend buffers of a pair of incarnations
    group           the members, their addresses and keys, from a file or a list
    conditions      the effects of a scenario on messages, timers and choices
    plan            the options with which a node is started
    ----
    log             lines on standard error for the operator
    output          lines on standard output, for which the node never waits
    durable         durable fields on disk
    journal         the events of this incarnation on disk
    resource        a file that refuses writes with old tokens
    sockets         listening and dialling: Unix sockets, loopback with a key, TLS
    certificates    an authority, and a certificate for each node
    connection      one connection: handshake, then frames, with limits
    tls_handshakes  TLS handshakes of accepted connections
    late_delivery   messages that have arrived and are delivered later, as if the network were slow
    channel         the channel to one peer: a link, and reconnects
    transport       all connections of a node
    timers          timers on the monotonic clock
    detection       the failure detectors of `vez.core.detectors` with real heartbeats
    application     the state of the application: wants, stays, elections
    pump            calls handlers, stores fields, records events, and performs effects
    control         commands, as lines from standard input or a control socket
    node            puts the parts together
"""
