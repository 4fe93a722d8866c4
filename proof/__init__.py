"""Proof: long programs that break what a machine can break, and show that nothing is lost, doubled or left hanging."""
