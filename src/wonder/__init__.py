"""Wonder: a durable workflow engine for AI and business processes."""
