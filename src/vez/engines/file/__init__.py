"""The file engine: a directory of this machine and the kernel's byte locks."""
