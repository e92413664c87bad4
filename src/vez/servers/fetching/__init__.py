"""A page and its files, fetched one after the other and at once: how a client hides latency.

A browser cannot ask for everything at once: it does not know which files the page needs before it has read
`index.html`. After that it can. Camargos, Concorrência, "Cliente", shows this in the console of a browser. Here it is
measured with a client of our own, and with a real browser where one is installed.

    page      a page that needs twelve files
    client    fetches it over one or more connections, and records the times
    browser   lets Chromium fetch it, and reads the times that it recorded
    picture   the waterfall
    trial     the page behind a real server, loaded in several ways
"""
