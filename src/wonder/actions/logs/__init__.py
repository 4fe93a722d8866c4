"""Logs: what actions, their programs and Wonder itself say while runs go on (EVT-4a)."""
