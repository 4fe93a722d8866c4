"""`write_artifact`: keeps content in the object store."""
