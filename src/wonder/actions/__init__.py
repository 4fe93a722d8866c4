"""What can be done: the action protocol, its registry, one file per kind."""
