-- What models cost and where they may be is the operator's to say (RES-6).
ALTER TABLE workspace_settings ADD COLUMN allowed_model_base_urls JSON;
ALTER TABLE workspace_settings ADD COLUMN model_prices JSON NOT NULL DEFAULT '[]';
