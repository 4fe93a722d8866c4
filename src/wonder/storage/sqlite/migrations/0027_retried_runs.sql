-- Lists say of each run whether it was retried.
CREATE INDEX runs_retries ON runs (retry_of_run_id) WHERE retry_of_run_id IS NOT NULL;
