"""Every interleaving of programs of threads over shared memory."""
