"""The verification matrix: every algorithm against every kind of fault, and its page."""
