"""`update_context`: assigns the values of expressions."""
