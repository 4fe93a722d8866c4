"""`shell_command`: runs a program with its arguments."""
