"""`llm_call`: sends a prompt to a model."""
