"""The phase form: @refs, typed validation, compiled to a WorkflowDef. Pure."""
