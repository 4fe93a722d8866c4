"""Other people's code in killable worker processes: the TypeScript compiler and transforms."""
