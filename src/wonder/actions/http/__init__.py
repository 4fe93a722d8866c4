"""What every kind that speaks HTTP shares: one client with limits, and which addresses it may reach."""
