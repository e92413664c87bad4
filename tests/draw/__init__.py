"""Tests of pictures; a package, so that they can share traces and a browser."""
