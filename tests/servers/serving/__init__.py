"""Tests of servers; a package, so that they can share services and clients."""
