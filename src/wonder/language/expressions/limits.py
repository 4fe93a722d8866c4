"""How large an expression, and what it builds, may become."""

# Characters in the text of one expression.
MAX_LENGTH = 10_000

# Height of the tree. SQLite allows 1,000, which Python's stack does not; chains of AND, OR and || count as one level.
MAX_NESTING = 100

# Bytes of a text that an expression puts together. A longer one can be read, cut and compared, but not built.
MAX_TEXT = 1_000_000

# Bytes of a LIKE or GLOB pattern, as in SQLite.
MAX_PATTERN = 50_000

# Steps of a match that has to try a pattern at every character of a text: about a tenth of a second.
MAX_MATCH_STEPS = 50_000_000

# Steps of a JSON path, and levels of a JSON text (CTX-7).
MAX_JSON_DEPTH = 200

# Characters of a structured condition as JSON; its lists of literals may be long.
MAX_STRUCTURED = 100_000
