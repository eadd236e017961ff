"""Questions about trained models of any task: how sure, how sturdy, how fast, how alive."""
