"""SQL of a person's own (`wonder query`): what it may read and call, and how it is kept from anything else."""
