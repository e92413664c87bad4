"""How long to wait for a silent process: delay tails, and the timeout of least cost."""
