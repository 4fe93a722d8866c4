"""Lists of runs in a database with a million of them."""
