"""A page and its files, fetched one after the other and at once: how a client hides latency.

A browser cannot ask for everything at once: it does not know what the page needs before it has read `index.html`. After
that it can. Camargos, Concorrência, "Cliente", shows the console of a browser; here the same is measured with a client
of ours, and with a real browser where there is one.

    page      a page that needs twelve files
    client    fetches it over one or more connections, and notes when what happened
    browser   lets Chromium fetch it, and asks it what happened
    picture   the waterfall
"""
