"""Printing: what users read.

    consoles      the consoles of rich on which all of it is printed
    output        reports, verdicts, pictures and JSON, on standard output or in files
    costs         the measurements of a run
    tables        tables that fit the terminal; `table_files`: tables in files
    charts        charts as text or in files
    progress      progress bars and status lines
    without_numpy the note that NumPy makes a search faster
    waiting       the live line of `vez run` and `vez elect`
    language      English or Portuguese, by `VEZ_LANG`

`vez.cli.encoding` replaces characters that the terminal cannot show.
"""
