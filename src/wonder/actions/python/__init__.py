"""`python`: calls a Python function."""
