"""Locks and leaders for programs: requests, grants, and the clients for threads and for tasks."""
