"""Wires the parts together: the only module that knows them all."""
