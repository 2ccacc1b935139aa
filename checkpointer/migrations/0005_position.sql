-- Where an attempt stands, in one read.

CREATE FUNCTION effect_json(e effects) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('effect_id', e.effect_id, 'tenant', e.tenant, 'resource', e.resource,
        'key', e.key, 'operation_hash', e.operation_hash, 'attempt_id', e.attempt_id,
        'action_id', e.action_id,
        'status', e.status, 'fence', e.fence, 'from_version', e.from_version,
        'to_version', e.to_version, 'outcome', e.outcome, 'source', e.source,
        'pending', e.pending, 'verified', e.verified)
$$;

CREATE FUNCTION grant_json(g grants) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('approval_id', g.approval_id, 'approver', g.approver,
        'answer', g.answer, 'authority', g.authority, 'authenticated', g.authenticated,
        'reason', g.reason, 'args', g.args, 'reach', g.reach, 'decided_at', g.decided_at)
$$;

-- The stored request with what changed since: status and deadline.
CREATE FUNCTION approval_json(p approvals) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT p.body::jsonb || jsonb_build_object('expires_at', p.expires_at,
        'escalated', p.escalated, 'status',
        CASE WHEN p.status IN ('PENDING', 'GRANTED') AND p.expires_at <= checkrein.now()
             THEN 'EXPIRED' ELSE p.status END)
$$;

CREATE FUNCTION held_time(a attempts) RETURNS interval LANGUAGE sql VOLATILE AS $$
    SELECT a.held + CASE WHEN a.lease_owner IS NULL THEN '0'
        ELSE least(checkrein.now(), a.lease_until) - a.lease_seen END
$$;

-- How long the attempts that draw on a pool were owned, together.
CREATE FUNCTION pool_seconds(of_pool text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT ceil(extract(epoch FROM sum(checkrein.held_time(a))))::bigint
    FROM checkrein.draws d JOIN checkrein.attempts a ON a.attempt_id = d.attempt_id
    WHERE d.pool = of_pool
$$;

-- Of each budget the pool with the least left; and those of which four fifths are used.
CREATE FUNCTION budget_parts(of_attempt text, OUT budgets json, OUT near json)
LANGUAGE sql VOLATILE AS $$
    WITH lines AS MATERIALIZED (
        SELECT b.pool, b.budget, b.lim, b.reserved, b.warned, CASE b.budget WHEN 'wall_time_s'
            THEN checkrein.pool_seconds(b.pool) ELSE b.spent END AS spent
        FROM checkrein.draws d JOIN checkrein.budgets b ON b.pool = d.pool
        WHERE d.attempt_id = of_attempt),
    tightest AS (
        SELECT DISTINCT ON (budget) * FROM lines
        ORDER BY budget, lim - spent - reserved, pool <> of_attempt, pool)
    SELECT (SELECT json_object_agg(budget, json_build_object('limit', lim, 'spent', spent,
            'reserved', reserved, 'pool', nullif(pool, of_attempt))) FROM tightest),
        (SELECT coalesce(json_agg(json_build_object('budget', budget, 'pool', pool, 'limit', lim,
            'used', spent + reserved, 'warned', warned) ORDER BY budget, pool), '[]') FROM lines
         WHERE lim > 0 AND (spent + reserved) * 5 >= lim * 4
           AND budget NOT IN ('approvals_outstanding', 'children'))
$$;

CREATE FUNCTION actions_json(of_attempt text, of_turn integer) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_agg(json_build_object(
        'action', x.body, 'status', x.status, 'operation_hash', x.operation_hash,
        'permission', x.permission_id, 'decision', (SELECT d.body FROM checkrein.decisions d WHERE d.action_id = x.action_id
                     ORDER BY d.seq DESC LIMIT 1),
        'approval', to_json(checkrein.approval_json(p)),
        'grants', coalesce((SELECT json_agg(checkrein.grant_json(g) ORDER BY g.decided_at)
                  FROM checkrein.grants g WHERE g.approval_id = p.approval_id), '[]'),
        'effect', CASE WHEN e.effect_id IS NOT NULL THEN checkrein.effect_json(e) END,
        'effect_age_s', extract(epoch FROM checkrein.now() - e.bound_at),
        'observed', EXISTS (SELECT FROM checkrein.observations o
            WHERE o.attempt_id = of_attempt AND o.turn = of_turn AND o.position = x.position)
        ) ORDER BY x.position)
    FROM checkrein.actions x
    LEFT JOIN LATERAL (SELECT * FROM checkrein.approvals r WHERE r.action_id = x.action_id
                       ORDER BY r.request_revision DESC LIMIT 1) AS p ON true
    LEFT JOIN checkrein.effects e ON e.tenant = x.tenant AND e.resource = x.resource
        AND e.key = x.idempotency_key
    WHERE x.attempt_id = of_attempt AND x.turn = of_turn
      -- Of a call whose arguments a person changed, the newest alone can still run.
      AND NOT EXISTS (SELECT FROM checkrein.actions y WHERE y.attempt_id = of_attempt
                      AND y.turn = of_turn AND y.position = x.position AND y.revision > x.revision)
$$;

CREATE FUNCTION position_of(of_attempt text) RETURNS json
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
    SELECT json_build_object(
        'body', a.body, 'status', a.status, 'started_at', a.started_at,
        'head_seq', a.head_seq, 'head_hash', 'sha256:' || encode(a.head_hash, 'hex'),
        'pause_requested', a.pause_requested, 'cancel_reason', a.cancel_reason,
        'exhausted', a.exhausted, 'unfinished', a.unfinished,
        'detail', a.detail, 'sealed', a.candidate ->> 'state_digest',
        'verification', a.verification, 'idle_turns', a.idle_turns,
        'denied_turns', a.denied_turns, 'denials', a.denials, 'progress', a.progress,
        'private_seen', a.private_seen,
        'untrusted_seen', a.untrusted_seen, 'plan_accepted', a.plan_accepted,
        'result_accepted', a.result_accepted,
        'revocations', live_authority(a.tenant, false), 'grants', live_authority(a.tenant, true),
        'permissions', coalesce((SELECT json_agg(m.body::jsonb || jsonb_build_object(
            'uses_left', m.uses_left, 'expires_at', m.expires_at) ORDER BY m.permission_id)
            FROM permissions m WHERE m.task_id = a.task_id AND m.uses_left > 0
            AND m.expires_at > checkrein.now()), '[]'),
        'judgements', coalesce((SELECT json_agg(json_build_object('turn', j.turn,
            'check', j.check_name, 'role', j.role, 'question', j.question,
            'state_digest', j.state_digest, 'verdict', j.verdict, 'by', j.said_by,
            'authenticated', j.authenticated, 'note', j.note) ORDER BY j.asked_at)
            FROM judgements j WHERE j.attempt_id = of_attempt AND (j.turn = t.turn
            OR j.state_digest = a.candidate ->> 'state_digest')), '[]'),
        'lease_alive', a.lease_owner IS NOT NULL AND a.lease_until > checkrein.now(),
        'turn', CASE WHEN t.turn IS NOT NULL THEN json_build_object('turn', t.turn,
            'status', t.status, 'raw_ref', t.raw_ref, 'manifest_ref', t.manifest_ref,
            'sent', t.sent, 'lowest_trust', t.lowest_trust, 'model_tries', t.model_tries,
            'model', t.model,
            'waits_for', t.waits_for, 'text', coalesce(t.text, '')) END,
        'actions', coalesce(actions_json(of_attempt, t.turn), '[]'),
        'observed', coalesce((SELECT json_agg(o.position) FROM observations o
            WHERE o.attempt_id = of_attempt AND o.turn = t.turn), '[]'),
        'budgets', m.budgets, 'near', m.near,
        'held', coalesce((SELECT json_object_agg(u.budget, u.reserved) FROM usage u
            WHERE u.attempt_id = of_attempt AND u.reserved > 0), '{}'))
    FROM attempts a
    CROSS JOIN LATERAL budget_parts(of_attempt) AS m
    LEFT JOIN LATERAL (SELECT * FROM turns WHERE attempt_id = of_attempt
                       ORDER BY turns.turn DESC LIMIT 1) AS t ON true
    WHERE a.attempt_id = of_attempt
$$;
