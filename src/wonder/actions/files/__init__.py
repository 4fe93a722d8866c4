"""The project's files: where they are, and what no action may touch."""
