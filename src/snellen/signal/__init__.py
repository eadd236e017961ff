"""Raw recordings to arrays. Knows no task."""
