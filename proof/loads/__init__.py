"""The mixed load: an engine process and one that reads and asks beside it, watched from outside."""
