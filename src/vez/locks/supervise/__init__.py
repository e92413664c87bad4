"""Commands that run while a lock is held.

    child          runs the command for a grant: forwards signals, hands over the terminal, ends it after a loss
    keeper         a process between `vez run` and its command, which ends the command when `vez run` dies
    kept_command   the keeper as `vez run` sees it, over a control socket
    nested         `vez run` within `vez run`: the holdings of the outer ones

`vez run` (`vez.cli.run`) uses it.
"""
