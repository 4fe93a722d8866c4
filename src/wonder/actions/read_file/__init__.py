"""`read_file`: reads a file of the project's files_root."""
