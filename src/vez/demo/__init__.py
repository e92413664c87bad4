"""`make demo`: real processes take turns on the default engine, then three runs of the simulator."""
