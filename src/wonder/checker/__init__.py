"""The checker trusts nothing: it reads a database and logs of tests, shares no code with the engine, names faults."""
