"""`assert`: fails unless an expression holds."""
