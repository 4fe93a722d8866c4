"""The records of the specification, one module per subject: what is stored, and what a person may write in them."""
