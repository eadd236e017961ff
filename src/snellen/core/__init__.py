"""The nouns: corpus, split, answers, outcome, card. Knows no task and no file format."""
