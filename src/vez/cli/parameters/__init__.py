"""Parameters: the words that users type after a command, read and checked.

    declared, clicked     commands declared as data, with a quick parser; the same commands for click
    forms                 the short forms of faults and requests, as `3@7..15`
    numbers               finite numbers
    completion            names that the shell completes
    engine_url            the engine of a command
    recorded_runs         files and folders of recorded runs, and the algorithm that they name
    thread_programs       programs of threads, by name or from a file
    option_checks         options that need or exclude each other; output files
    other_words           words of other commands and of the API, for those who type them here
    ineffective_options   options that an algorithm would not notice

`vez.cli.printing` has the other side: what users read.
"""
