"""`human_input`: asks a person, and waits for the answer."""
