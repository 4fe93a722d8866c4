"""The client of a server: operations are asked for over HTTP instead of being carried out in this process."""
