"""Secrets: their values, and where actions may use them."""
