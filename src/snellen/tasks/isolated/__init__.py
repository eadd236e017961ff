"""Which sign is this clip? Readers, models, scorecards and the main job."""
