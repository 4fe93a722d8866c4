"""One writer: facts in, decisions applied, commits, effects released; timers, recovery, leases."""
