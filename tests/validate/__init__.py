"""Tests of `vez.validate`, with what they share."""
