"""Runs as they are remembered: recorded batch by batch, loaded again, looked at, and fenced by a lease."""
