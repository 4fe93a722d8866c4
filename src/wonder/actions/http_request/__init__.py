"""`http_request`: sends an HTTP request."""
