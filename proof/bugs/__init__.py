"""Planted bugs: small changes to the engine, each like a real slip, that checker, simulation or tests must notice."""
