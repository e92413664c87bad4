"""Our servers and other servers for the comparison in `bench/serving.py`, each as a process of its own."""
