-- Reads for checkpointer/records.py. Each query follows a line `-- name: NAME`.

-- name: history
SELECT t.turn, b.data AS raw, t.waits_for, t.text, t.answer, t.waits_call,
    coalesce((SELECT json_agg(o.body ORDER BY o.position) FROM checkrein.observations o
              WHERE o.attempt_id = t.attempt_id AND o.turn = t.turn), '[]') AS observations,
    (SELECT v.body FROM checkrein.verifications v
     WHERE v.attempt_id = t.attempt_id AND v.turn = t.turn) AS feedback
FROM checkrein.turns t
JOIN checkrein.blobs b ON b.tenant = t.tenant AND b.ref = t.raw_ref
WHERE t.attempt_id = %(attempt)s AND t.turn < %(before)s
ORDER BY t.turn DESC LIMIT %(limit)s

-- name: task
SELECT task_id, tenant, contract_version, input_refs, risk, budget, requested_by,
    commit_authority, parent, status
FROM checkrein.tasks WHERE task_id = %(task)s

-- name: attempts
SELECT a.attempt_id, a.task_id, a.number, a.status, a.contract ->> 'goal' AS goal,
    coalesce(a.body ->> 'purpose', 'work') AS purpose,
    to_char(a.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at,
    a.lease_owner IS NOT NULL AND a.lease_until > checkrein.now() AS lease_alive
FROM checkrein.attempts a
WHERE %(task)s::text IS NULL OR a.task_id = %(task)s
ORDER BY a.started_at DESC, a.number DESC LIMIT %(limit)s

-- name: unfinished
SELECT a.attempt_id, a.task_id, a.number, a.status, a.contract ->> 'goal' AS goal,
    coalesce(a.body ->> 'purpose', 'work') AS purpose,
    to_char(a.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at,
    a.lease_owner IS NOT NULL AND a.lease_until > checkrein.now() AS lease_alive
FROM checkrein.attempts a
WHERE a.status IN ('RUNNING', 'VERIFYING', 'CANCELLING')
ORDER BY a.started_at

-- name: approvals
SELECT checkrein.approval_json(p) AS approval
FROM checkrein.approvals p JOIN checkrein.attempts a USING (attempt_id)
WHERE (%(attempt)s::text IS NULL OR p.attempt_id = %(attempt)s)
  AND (NOT %(open_only)s OR (p.status = 'PENDING' AND p.expires_at > checkrein.now()
                             AND a.cancel_reason IS NULL))
ORDER BY a.started_at, p.requested_at, p.approval_id

-- name: approval
SELECT checkrein.approval_json(p) AS approval,
    coalesce((SELECT json_agg(checkrein.grant_json(g) ORDER BY g.decided_at)
              FROM checkrein.grants g WHERE g.approval_id = p.approval_id), '[]') AS grants
FROM checkrein.approvals p WHERE p.approval_id = %(approval)s

-- name: overdue
SELECT checkrein.approval_json(p) AS approval
FROM checkrein.approvals p JOIN checkrein.attempts a USING (attempt_id)
WHERE a.cancel_reason IS NULL AND (
    (p.status IN ('PENDING', 'GRANTED') AND p.expires_at <= checkrein.now())
    OR (p.status = 'PENDING' AND p.requested_at + make_interval(secs =>
        (p.body #>> ARRAY['escalation', p.escalated::text, 'after_s'])::integer)
        <= checkrein.now()))
ORDER BY p.requested_at LIMIT 1000

-- name: effects
SELECT checkrein.effect_json(e) AS effect FROM checkrein.effects e
WHERE e.attempt_id = %(attempt)s ORDER BY e.bound_seq

-- name: ledger
SELECT checkrein.effect_json(e) AS effect, t.task_id, x.type AS capability, x.body -> 'args' AS args,
    coalesce((SELECT json_agg(json_build_object('action_id', r.action_id, 'effect_id', r.effect_id,
        'n', r.n, 'started_at', r.started_at, 'ended_at', r.ended_at, 'outcome', r.outcome)
        ORDER BY r.n) FROM checkrein.tool_tries r WHERE r.effect_id = e.effect_id), '[]') AS tries
FROM checkrein.effects e
JOIN checkrein.actions x ON x.action_id = e.action_id
JOIN checkrein.attempts t ON t.attempt_id = e.attempt_id
WHERE CASE WHEN %(effect)s::text IS NOT NULL THEN e.effect_id = %(effect)s
           WHEN %(attempt)s::text IS NOT NULL THEN e.attempt_id = %(attempt)s
           ELSE e.status IN ('INTENT', 'EXECUTING', 'UNKNOWN_EFFECT') END
ORDER BY t.started_at, e.bound_seq

-- name: sent
SELECT e.effect_id, x.type AS capability, e.status, d.body ->> 'decision' AS verdict,
    coalesce((SELECT v.payload::json ->> 'operation_hash' FROM checkrein.events v
        WHERE v.attempt_id = e.attempt_id AND v.seq = d.seq) = e.operation_hash, false)
        AS same_operation,
    x.permission_id IS NOT NULL OR EXISTS (
        SELECT 1 FROM checkrein.approvals p JOIN checkrein.grants g USING (approval_id)
        WHERE p.action_id = e.action_id AND p.operation_hash = e.operation_hash
          AND p.status = 'USED' AND g.answer = 'approve') AS granted
FROM checkrein.effects e
JOIN checkrein.actions x ON x.action_id = e.action_id
LEFT JOIN LATERAL (SELECT d.body, d.seq FROM checkrein.decisions d
    WHERE d.action_id = e.action_id AND d.attempt_id = e.attempt_id AND d.phase = 'dispatch' AND d.seq < e.bound_seq
    ORDER BY d.seq DESC LIMIT 1) d ON true
WHERE e.attempt_id = %(attempt)s AND e.status NOT IN ('INTENT', 'DENIED')
ORDER BY e.bound_seq

-- name: authority
SELECT tenant, kind, value, granted, said_by, reason,
    to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at,
    n = max(n) OVER (PARTITION BY tenant, kind, value) AS newest
FROM checkrein.authority
WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s
ORDER BY n DESC LIMIT 1000

-- name: environment
SELECT e.payload::json -> 'environment' AS environment
FROM checkrein.events e
WHERE e.attempt_id = %(attempt)s AND e.type = 'environment_chosen'
ORDER BY e.seq DESC LIMIT 1

-- name: opinions
SELECT e.payload::json ->> 'check_id' AS check_id, e.payload::json -> 'result' AS result
FROM checkrein.events e
WHERE e.attempt_id = %(attempt)s AND e.type = 'judge_answered'
    AND e.payload::json ->> 'state_digest' = %(sealed)s
ORDER BY e.seq

-- name: repeats
SELECT 1 AS found
FROM checkrein.attempts mine
JOIN checkrein.attempts other ON other.task_id = mine.task_id
    AND other.attempt_id <> mine.attempt_id
JOIN checkrein.effects e ON e.attempt_id = other.attempt_id
JOIN checkrein.actions x ON x.action_id = e.action_id
WHERE mine.attempt_id = %(attempt)s AND x.type = %(type)s AND x.resource = %(resource)s
  AND x.args_hash = %(args_hash)s AND e.status IN ('COMMITTED', 'EXECUTING', 'UNKNOWN_EFFECT')
LIMIT 1

-- name: resolve
SELECT attempt_id FROM checkrein.attempts
WHERE left(attempt_id, length(%(prefix)s)) = %(prefix)s LIMIT 3

-- name: dossier
SELECT json_build_object(
    'task', (SELECT row_to_json(t) FROM (SELECT task_id, tenant, contract_version, input_refs,
        risk, budget, requested_by, commit_authority, parent, status FROM checkrein.tasks
        WHERE task_id = a.task_id) t),
    'contract', a.contract, 'attempt', a.body, 'status', a.status, 'started_at', a.started_at,
    'candidate', a.candidate, 'verification', a.verification,
    'head_seq', a.head_seq, 'head_hash', 'sha256:' || encode(a.head_hash, 'hex'),
    'actions', coalesce((SELECT json_agg(json_build_object('action', x.body, 'status', x.status,
        'decisions', (SELECT json_agg(d.body ORDER BY d.seq) FROM checkrein.decisions d
                      WHERE d.action_id = x.action_id)) ORDER BY x.turn, x.position)
        FROM checkrein.actions x WHERE x.attempt_id = a.attempt_id), '[]'),
    'approvals', coalesce((SELECT json_agg(json_build_object(
        'request', checkrein.approval_json(p),
        'grants', coalesce((SELECT json_agg(checkrein.grant_json(g)) FROM checkrein.grants g
                   WHERE g.approval_id = p.approval_id), '[]')) ORDER BY p.requested_at)
        FROM checkrein.approvals p WHERE p.attempt_id = a.attempt_id), '[]'),
    'effects', coalesce((SELECT json_agg(checkrein.effect_json(e) ORDER BY e.bound_seq)
        FROM checkrein.effects e WHERE e.attempt_id = a.attempt_id), '[]'),
    'acceptances', coalesce((SELECT json_agg(s.body ORDER BY s.accepted_by)
        FROM checkrein.acceptances s WHERE s.attempt_id = a.attempt_id), '[]'),
    'usage', coalesce((SELECT json_object_agg(u.budget, json_build_object('spent', u.spent,
        'reserved', u.reserved)) FROM checkrein.usage u
        WHERE u.attempt_id = a.attempt_id), '{}')) AS dossier
FROM checkrein.attempts a WHERE a.attempt_id = %(attempt)s

-- name: books
SELECT pool, kind, budget, lim AS limit, spent, reserved, warned, drawn, held
FROM checkrein.books_of(%(attempt)s)

-- name: milestones
SELECT type, at, payload FROM checkrein.events
WHERE attempt_id = %(attempt)s
  AND type IN ('candidate_sealed', 'verification_finished', 'attempt_ended', 'user_accepted')
ORDER BY seq
