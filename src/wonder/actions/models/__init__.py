"""Where models are."""
