"""One folder a task. Tasks never import one another."""
