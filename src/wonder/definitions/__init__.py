"""What an author wrote: the records, the file form, the content hash and every check at creation. Pure."""
