"""A second opinion on the checker: an explorer that shares no code with it, and protocols drawn at random."""
