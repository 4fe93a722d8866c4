"""Artifacts in a directory or S3, and vectors in sqlite-vec or pgvector."""
