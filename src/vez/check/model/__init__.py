"""The model that is explored: processes as finite machines, the steps, and runs as scenarios."""
