"""Crashes at chosen operations of the store: scenarios with clients, played in real processes that end there."""
