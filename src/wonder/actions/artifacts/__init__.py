"""What actions store for good."""
