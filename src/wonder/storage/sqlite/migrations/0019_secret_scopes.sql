-- Where a secret may go, as JSON; null for one that was stored before there were scopes. It is sealed with the secret: a
-- row whose scope was changed is not opened.
ALTER TABLE secrets ADD COLUMN scope TEXT;
