-- Effects from their binding to their end; `project` calls these.

CREATE FUNCTION step_effect(a attempts, p json, by_event text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE checkrein.effects SET status = checkrein.next_status('effect', status, by_event)
    WHERE effect_id = p ->> 'effect_id' AND action_id = p ->> 'action_id'
      AND attempt_id = a.attempt_id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('action %s of this attempt has no effect %s',
            p ->> 'action_id', p ->> 'effect_id'));
    END IF;
END $$;

CREATE FUNCTION bind_intent(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO checkrein.effects (tenant, effect_id, attempt_id, action_id, resource, key,
        operation_hash, status, bound_seq, bound_at)
    VALUES (a.tenant, p ->> 'effect_id', a.attempt_id, p ->> 'action_id', p ->> 'resource',
        p ->> 'key', p ->> 'operation_hash', 'INTENT', at_seq, checkrein.now())
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR007', 'the key is bound already', p ->> 'effect_id');
    END IF;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

CREATE FUNCTION begin_try(a attempts, of_action text, of_effect text) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO checkrein.tool_tries (tenant, action_id, n, effect_id, started_at, outcome)
    SELECT a.tenant, of_action, count(*) + 1, of_effect, checkrein.now(), 'sent'
    FROM checkrein.tool_tries WHERE action_id = of_action
$$;

CREATE FUNCTION end_try(of_effect text, how text) RETURNS void
LANGUAGE sql AS $$
    UPDATE checkrein.tool_tries SET ended_at = checkrein.now(), outcome = how
    WHERE effect_id = of_effect AND ended_at IS NULL
$$;

CREATE FUNCTION mark_executing(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id text := p ->> 'effect_id';
    sent_under bigint := p ->> 'fence';
BEGIN
    IF a.cancel_reason IS NOT NULL THEN
        PERFORM checkrein.refuse('CR003', 'the attempt is being cancelled');
    ELSIF sent_under <> a.lease_fence THEN
        PERFORM checkrein.refuse('CR001', format('fence %s does not own the attempt', sent_under));
    END IF;
    PERFORM checkrein.check_not_revoked(a, p ->> 'action_id');
    PERFORM checkrein.step_effect(a, p, 'executing');
    UPDATE checkrein.effects SET fence = sent_under, pending = false,
        from_version = p ->> 'from_version', to_version = p ->> 'to_version'
    WHERE effect_id = id AND fence < sent_under;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', format('fence %s has sent it already', sent_under));
    END IF;
    PERFORM checkrein.begin_try(a, p ->> 'action_id', id);
    RETURN checkrein.step_action(a, p ->> 'action_id', 'running', at_seq);
END $$;

-- Whether somebody took back the right to do this, up to this very transaction.
CREATE FUNCTION check_not_revoked(a attempts, of_action text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    IF NOT EXISTS (SELECT FROM checkrein.authority WHERE tenant = a.tenant) THEN
        RETURN;
    END IF;
    SELECT s.kind || ':' || s.value INTO found
    FROM checkrein.actions x
    LEFT JOIN checkrein.turns t ON t.attempt_id = x.attempt_id AND t.turn = x.turn
    CROSS JOIN LATERAL (VALUES ('user', a.contract ->> 'requested_by'),
        ('user', a.body #>> '{commit,by}'),
        -- The model that proposed it: the attempt's own, or the one that stood in for it.
        ('agent', coalesce(t.model, a.body ->> 'model')),
        ('capability', regexp_replace(x.type, '@[^@]*$', '')),
        ('resource', x.resource)) AS s(kind, value)
    JOIN LATERAL (SELECT granted FROM checkrein.authority w WHERE w.tenant = a.tenant
                  AND w.kind = s.kind AND w.value = s.value ORDER BY n DESC LIMIT 1) AS w ON true
    WHERE x.action_id = of_action AND NOT w.granted LIMIT 1;
    IF found IS NOT NULL THEN
        PERFORM checkrein.refuse('CR010', format('%s is revoked', found), found);
    END IF;
END $$;

-- The same owner sends once more under the same key: under its own fence, and not once cancelled.
CREATE FUNCTION retry_effect(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id text := p ->> 'effect_id';
BEGIN
    IF a.cancel_reason IS NOT NULL THEN
        PERFORM checkrein.refuse('CR003', 'the attempt is being cancelled');
    END IF;
    PERFORM checkrein.check_not_revoked(a, p ->> 'action_id');
    PERFORM checkrein.step_effect(a, p, 'retried');
    IF NOT EXISTS (SELECT FROM checkrein.effects WHERE effect_id = id
                   AND fence = (p ->> 'fence')::bigint AND fence = a.lease_fence) THEN
        PERFORM checkrein.refuse('CR001', format('fence %s did not send it', p ->> 'fence'));
    END IF;
    PERFORM checkrein.end_try(id, p ->> 'error_type');
    PERFORM checkrein.begin_try(a, p ->> 'action_id', id);
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

-- Of an effect that another action holds nothing is changed: only this action waits for it.
CREATE FUNCTION wait_for_effect(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (p ->> 'sent')::boolean THEN
        RETURN checkrein.step_action(a, p ->> 'action_id', 'pending', at_seq);
    END IF;
    PERFORM checkrein.step_effect(a, p, 'pending');
    UPDATE checkrein.effects SET pending = true WHERE effect_id = p ->> 'effect_id';
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

CREATE FUNCTION verify_effect(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE checkrein.effects SET verified = (p ->> 'holds')::boolean
    WHERE effect_id = p ->> 'effect_id' AND action_id = p ->> 'action_id'
      AND attempt_id = a.attempt_id AND status = 'COMMITTED' AND verified IS NULL;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'only a receipt that was not read back can be');
    END IF;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

CREATE FUNCTION on_effect(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id text := p ->> 'effect_id';
    event text := substr(kind, length('effect_') + 1);
    said text := p #>> '{outcome,status}';
    next_of_action text := CASE event WHEN 'committed' THEN 'succeeded' WHEN 'refused' THEN 'failed'
                                      WHEN 'unknown' THEN 'unknown' END;
BEGIN
    IF event = 'reconciled' AND said = 'NOT_APPLIED' THEN
        event := 'not_applied';
        next_of_action := 'failed';
    ELSIF event IN ('committed', 'reconciled') AND said IS DISTINCT FROM 'COMMITTED' THEN
        PERFORM checkrein.refuse('CR002', format('an outcome %s makes no effect %s', said, event));
    END IF;
    PERFORM checkrein.step_effect(a, p, event);
    UPDATE checkrein.effects SET outcome = p -> 'outcome', pending = false,
        source = coalesce(p ->> 'source', CASE event WHEN 'committed' THEN 'executed'
                                                     WHEN 'refused' THEN 'executed' END)
    WHERE effect_id = id;
    PERFORM checkrein.end_try(id, event);
    RETURN checkrein.step_action(a, p ->> 'action_id', next_of_action, at_seq);
END $$;

-- A secret goes to an action or to a check. Nothing is kept of it but the events themselves; what a
-- person took back is not lent, up to this very transaction.
CREATE FUNCTION on_secret(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF kind = 'secret_leased' AND NOT coalesce((SELECT granted FROM checkrein.authority w
            WHERE w.tenant = a.tenant AND w.kind = 'secret' AND w.value = p ->> 'name'
            ORDER BY n DESC LIMIT 1), true) THEN
        PERFORM checkrein.refuse('CR010', format('secret:%s is revoked', p ->> 'name'),
            'secret:' || (p ->> 'name'));
    END IF;
    IF p ->> 'action_id' IS NULL THEN
        RETURN checkrein.step_turn(a.attempt_id, (p ->> 'turn')::integer, at_seq);
    END IF;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA checkrein FROM PUBLIC;
