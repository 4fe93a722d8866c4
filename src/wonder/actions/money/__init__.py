"""What calls of models cost: prices, budgets and the calls that an hour may have."""
