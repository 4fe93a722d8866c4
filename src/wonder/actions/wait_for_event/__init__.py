"""`wait_for_event`: waits for an event from outside."""
