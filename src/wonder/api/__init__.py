"""The HTTP door: requests in, answers out. It knows operations, and how HTTP says what they say."""
