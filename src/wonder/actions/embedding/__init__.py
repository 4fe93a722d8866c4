"""Texts become vectors: providers of embeddings, and what a vector index asks of them."""
