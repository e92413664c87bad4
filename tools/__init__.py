"""Tools of the repository. They are not part of the package.

    install, install-servers, install-browser   the development environment, and the programs that the tests need
    run-tests, pythons, mutate                  the tests: all of them, on other Pythons, against mutations
    regenerate                                  every golden and generated file
    algorithm_pages, api_page, scenario_list    generators of documentation
    unasync                                     generates code for threads from code for tasks
    rooms, duplicates                           allowed imports, and code that is written twice
    revisions                                   the speed of two revisions

`make` and CONTRIBUTING.md name the usual ones.
"""
