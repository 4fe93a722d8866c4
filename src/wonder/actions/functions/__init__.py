"""The Python functions that actions may call."""
