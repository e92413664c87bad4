"""Which states can be skipped: partial-order and symmetry reduction."""
