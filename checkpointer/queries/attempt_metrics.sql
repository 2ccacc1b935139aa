-- Reads for checkpointer/attempt_metrics.py. Each query follows a line `-- name: NAME`.

-- name: moment
SELECT coalesce(%(since)s::timestamptz,
    checkrein.now() - make_interval(secs => %(ago_s)s::float8)) AS since

-- name: classes
-- The end of an attempt says by which error it came.
SELECT a.status, e.payload::json ->> 'error_type' AS error_type, count(*) AS attempts,
    coalesce(sum((SELECT max(t.turn) FROM checkrein.turns t
                  WHERE t.attempt_id = a.attempt_id)), 0)::bigint AS turns,
    coalesce(sum((SELECT u.spent FROM checkrein.usage u
                  WHERE u.attempt_id = a.attempt_id AND u.budget = 'model_tokens')), 0)::bigint
        AS tokens
FROM checkrein.attempts a
LEFT JOIN checkrein.events e ON e.attempt_id = a.attempt_id
    AND e.type = 'attempt_ended'
WHERE (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s)
  AND (%(since)s::timestamptz IS NULL OR a.started_at >= %(since)s::timestamptz)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2

-- name: errors
SELECT o.body ->> 'name' AS capability, o.body #>> '{diagnostics,error_type}' AS error_type,
    count(*) AS calls, count(DISTINCT a.attempt_id) AS attempts
FROM checkrein.observations o JOIN checkrein.attempts a USING (attempt_id)
WHERE o.body #>> '{diagnostics,error_type}' IS NOT NULL
  AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s)
  AND (%(since)s::timestamptz IS NULL OR a.started_at >= %(since)s::timestamptz)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 1000

-- name: no_progress
SELECT e.payload::json ->> 'signal' AS signal, count(*) AS times
FROM checkrein.events e JOIN checkrein.attempts a USING (attempt_id)
WHERE e.type = 'no_progress_noticed'
  AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s)
  AND (%(since)s::timestamptz IS NULL OR a.started_at >= %(since)s::timestamptz)
GROUP BY 1 ORDER BY 1
