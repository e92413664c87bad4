"""What must happen eventually: the state graph, and fair loops in which it never does."""
