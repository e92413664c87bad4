"""Pictures: of what happened in a run, and of numbers over numbers."""
