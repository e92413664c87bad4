"""What is explored: processes as finite machines, the steps of the model, and runs as scenarios."""
