"""Studies as sections of a report, one module a study."""
