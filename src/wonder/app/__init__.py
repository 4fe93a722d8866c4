"""Wires the parts together, and is the application that every door uses."""
