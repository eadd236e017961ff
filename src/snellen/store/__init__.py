"""Files that are never half-written, and the run folder."""
