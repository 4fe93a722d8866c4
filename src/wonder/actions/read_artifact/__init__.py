"""`read_artifact`: reads the content of an artifact."""
