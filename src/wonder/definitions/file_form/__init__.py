"""The file form (SPEC 12): what a person writes, read into drafts of records."""
