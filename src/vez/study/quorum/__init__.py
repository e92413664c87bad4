"""How large a quorum must be when coordinators forget: exact chances, and the experiment."""
