"""`emit_metric`: gives a number with dimensions."""
