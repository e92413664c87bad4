"""Tests of `vez.judge.validate`, with what they share."""
