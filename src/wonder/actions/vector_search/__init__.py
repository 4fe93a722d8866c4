"""`vector_search`: finds the artifacts nearest to a query."""
