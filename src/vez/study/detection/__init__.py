"""How good failure detectors are: quality measures, and curves of the trade-off."""
