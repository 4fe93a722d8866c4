"""Looking at runs: event streams, timeline, costs, logs, metrics, traces, replay and verify."""
