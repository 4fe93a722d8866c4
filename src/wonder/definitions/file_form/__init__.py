"""The file form (FIL-1 to FIL-7): what a person writes, read into drafts of records."""
