"""Many hands: runs one task with its steps, retries, time-outs and limits."""
