-- Reads for checkpointer/decisions.py. Each query follows a line `-- name: NAME`.

-- name: one
SELECT d.attempt_id, d.seq, d.action_id, d.phase, d.body AS decision, b.data AS input,
    a.contract ->> 'policy' AS policy, e.at
FROM checkrein.decisions d
JOIN checkrein.attempts a USING (attempt_id)
JOIN checkrein.events e USING (attempt_id, seq)
LEFT JOIN checkrein.blobs b ON b.tenant = d.tenant AND b.ref = d.input_ref
WHERE d.attempt_id = %(attempt)s AND d.seq = %(seq)s

-- name: of_attempt
SELECT d.seq, d.phase, d.body ->> 'decision' AS decision, d.body ->> 'reason_code' AS reason_code
FROM checkrein.decisions d WHERE d.attempt_id = %(attempt)s ORDER BY d.seq LIMIT %(limit)s

-- name: page
SELECT d.attempt_id, d.seq, d.action_id, d.phase, d.body AS decision, b.data AS input,
    a.contract ->> 'policy' AS policy, e.at
FROM checkrein.decisions d
JOIN checkrein.attempts a USING (attempt_id)
JOIN checkrein.events e USING (attempt_id, seq)
LEFT JOIN checkrein.blobs b ON b.tenant = d.tenant AND b.ref = d.input_ref
WHERE (d.attempt_id, d.seq) > (%(after_attempt)s, %(after_seq)s)
  AND (%(since)s::timestamptz IS NULL OR e.at::timestamptz >= %(since)s::timestamptz)
ORDER BY d.attempt_id, d.seq LIMIT %(limit)s

-- name: last_change
SELECT e.attempt_id, e.seq, e.at, e.payload AS change
FROM checkrein.events e WHERE e.type IN ('policy_reloaded', 'policy_refused')
ORDER BY e.at DESC, e.attempt_id, e.seq DESC LIMIT 1
