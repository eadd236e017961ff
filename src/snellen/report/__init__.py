"""Cards to terminal, Markdown, CSV and one-file HTML. Shows; never computes."""
