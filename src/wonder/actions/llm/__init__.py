"""Asking language models: prompts to questions, questions over each provider's wire, answers to values."""
