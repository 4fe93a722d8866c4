"""`write_file`: writes a file of the project's files_root."""
