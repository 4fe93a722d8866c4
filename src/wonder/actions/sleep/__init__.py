"""`sleep`: waits for a time, or until a moment."""
