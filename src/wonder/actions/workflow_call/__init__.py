"""`workflow_call`: runs another workflow, and waits for its end."""
