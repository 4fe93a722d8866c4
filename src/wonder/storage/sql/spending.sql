-- What calls of models cost, by project and workspace and UTC calendar month, in billionths of a dollar (RES-6).
-- Sums end at four billion dollars (SUM_MAX_NANOUSD), so that two of them still fit into 64 bits: a sum that can't be
-- stored would keep what others spend from being stored with it.

-- name: ensure_spending
INSERT INTO spending (scope_id, month, spent_nanousd, reserved_nanousd, extended_nanousd)
VALUES ($1, $2, 0, 0, 0) ON CONFLICT (scope_id, month) DO NOTHING;

-- name: reserve_spending
-- No row is changed when the budget does not allow it; without a budget everything is allowed.
UPDATE spending SET reserved_nanousd = reserved_nanousd + $3
WHERE scope_id = $1 AND month = $2
    AND (CAST($4 AS BIGINT) IS NULL
        OR spent_nanousd + reserved_nanousd + $3 <= CAST($4 AS BIGINT) + extended_nanousd);

-- name: insert_reservation
INSERT INTO reservations (id, project_id, workspace_id, run_id, month, nanousd, owner_id, epoch, made_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: delete_reservation
-- The process that deletes it books its cost, so that it is booked once.
DELETE FROM reservations WHERE id = $1;

-- name: charge_spending
UPDATE spending SET reserved_nanousd = reserved_nanousd - $3,
    spent_nanousd = CASE
        WHEN spent_nanousd > 4000000000000000000 - CAST($4 AS BIGINT) THEN 4000000000000000000
        ELSE spent_nanousd + CAST($4 AS BIGINT) END
WHERE scope_id = $1 AND month = $2;

-- name: tell_alert
-- Changes a row if the threshold is reached and was not told: each threshold once a month, also one set afterwards.
UPDATE spending SET alerted_nanousd = $3
WHERE scope_id = $1 AND month = $2 AND spent_nanousd >= $3
    AND (alerted_nanousd IS NULL OR alerted_nanousd <> $3);

-- name: add_spending
INSERT INTO spending (scope_id, month, spent_nanousd, reserved_nanousd, extended_nanousd) VALUES ($1, $2, $3, 0, 0)
ON CONFLICT (scope_id, month) DO UPDATE SET spent_nanousd = CASE
    WHEN spending.spent_nanousd > 4000000000000000000 - excluded.spent_nanousd THEN 4000000000000000000
    ELSE spending.spent_nanousd + excluded.spent_nanousd END;

-- name: extend_budget
-- What a person has added to a budget for this month.
INSERT INTO spending (scope_id, month, spent_nanousd, reserved_nanousd, extended_nanousd) VALUES ($1, $2, 0, 0, $3)
ON CONFLICT (scope_id, month) DO UPDATE SET extended_nanousd = CASE
    WHEN spending.extended_nanousd > 4000000000000000000 - excluded.extended_nanousd THEN 4000000000000000000
    ELSE spending.extended_nanousd + excluded.extended_nanousd END;

-- name: spending_of
SELECT spent_nanousd, reserved_nanousd, extended_nanousd FROM spending WHERE scope_id = $1 AND month = $2;

-- name: reservations_of_others
-- Of processes that ran the engine before, and will never say what their calls have cost.
SELECT id, project_id, workspace_id, month, nanousd FROM reservations
WHERE owner_id <> $1 OR epoch <> $2 ORDER BY id LIMIT $3;

-- name: recent_model_calls
-- The time of the oldest call of those that fill the window, if there are so many.
SELECT at_ms FROM model_calls WHERE project_id = $1 AND at_ms > $2 ORDER BY at_ms DESC LIMIT 1 OFFSET $3;

-- name: insert_model_call
-- Again with the same id, where only the answer of a commit was lost: it is one call.
INSERT INTO model_calls (project_id, at_ms, id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: delete_old_model_calls
DELETE FROM model_calls WHERE at_ms <= $1;
