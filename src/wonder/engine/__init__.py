"""What should happen next: compiled graph, run state, facts, decide and evolve. Pure."""
