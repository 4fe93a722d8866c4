"""The small languages: expressions, paths and mappings, templates, JSON values and schemas. Pure."""
