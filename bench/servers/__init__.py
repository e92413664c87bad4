"""Servers beside ours, each as a process of its own: see `bench/serving.py`."""
