-- The one write path. Faults are raised with SQLSTATE CRxxx; checkpointer/faults.py names them:
-- CR001 lease lost, CR002 illegal transition, CR003 cancelled, CR004 unknown id, CR005 budget,
-- CR006 approval does not bind, CR007 key bound already, CR008 ended, CR009 not from outside,
-- CR010 revoked.

-- The database's clock. Only the owner of a test database may replace it.
CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql VOLATILE
AS 'SELECT clock_timestamp()';

CREATE FUNCTION refuse(code text, message text, detail text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail;
END $$;

CREATE FUNCTION has_ended(status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT status IN ('CANDIDATE_VERIFIED', 'FAILED_VERIFICATION', 'POLICY_BLOCKED',
        'ENVIRONMENT_ERROR', 'MODEL_ERROR', 'FAILED', 'CANCELLED')
$$;

CREATE FUNCTION next_status(of_machine text, from_status text, by_event text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found text;
BEGIN
    SELECT next INTO found FROM checkrein.transitions
    WHERE machine = of_machine AND current = from_status AND event = by_event;
    IF found IS NULL THEN
        PERFORM checkrein.refuse('CR002',
            format('a(n) %s that is %s cannot take the event %s', of_machine, from_status, by_event),
            from_status);
    END IF;
    RETURN found;
END $$;

-- Each step_ function moves one row through its table and returns what the event follows from.

CREATE FUNCTION step_attempt(id text, by_event text) RETURNS void
LANGUAGE sql AS $$
    UPDATE checkrein.attempts SET status = checkrein.next_status('attempt', status, by_event)
    WHERE attempt_id = id
$$;

CREATE FUNCTION step_task(id text, by_event text) RETURNS void
LANGUAGE sql AS $$
    UPDATE checkrein.tasks SET status = checkrein.next_status('task', status, by_event)
    WHERE task_id = id
$$;

CREATE FUNCTION step_turn(id text, n integer, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    cause bigint;
BEGIN
    SELECT last_event INTO cause FROM checkrein.turns WHERE attempt_id = id AND turn = n;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('attempt %s has no turn %s', id, n));
    END IF;
    UPDATE checkrein.turns SET last_event = at_seq WHERE attempt_id = id AND turn = n;
    RETURN cause;
END $$;

CREATE FUNCTION step_action(a attempts, id text, by_event text, at_seq bigint,
                            bound_hash text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    was text;
    cause bigint;
BEGIN
    SELECT status, last_event INTO was, cause FROM checkrein.actions
    WHERE action_id = id AND attempt_id = a.attempt_id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('there is no action %s in this attempt', id));
    END IF;
    IF by_event IS NOT NULL THEN
        was := checkrein.next_status('action', was, by_event);
    END IF;
    UPDATE checkrein.actions SET last_event = at_seq, status = was,
        operation_hash = coalesce(bound_hash, operation_hash)
    WHERE action_id = id;
    RETURN cause;
END $$;

CREATE FUNCTION step_approval(id text, by_event text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE checkrein.approvals SET status = checkrein.next_status('approval', status, by_event)
    WHERE approval_id = id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('there is no approval %s', id));
    END IF;
END $$;

CREATE FUNCTION save_checkpoint(a attempts, at_seq bigint) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO checkrein.checkpoints AS c
    SELECT a.tenant, a.attempt_id, 1, at_seq, a.body #>> '{workspace_ref,root}',
        -- A turn does not close before the fate of all its effects is known.
        ARRAY(SELECT e.effect_id FROM checkrein.actions x
              JOIN checkrein.effects e ON e.action_id = x.action_id
              WHERE x.attempt_id = a.attempt_id AND x.turn = t.turn
                AND e.status IN ('INTENT', 'EXECUTING', 'UNKNOWN_EFFECT')),
        t.manifest_ref, checkrein.now()
    FROM (VALUES (1)) AS one
    LEFT JOIN LATERAL (SELECT * FROM checkrein.turns WHERE attempt_id = a.attempt_id
                       ORDER BY turn DESC LIMIT 1) AS t ON true
    ON CONFLICT (attempt_id) DO UPDATE SET
        state_version = c.state_version + 1, event_offset = excluded.event_offset,
        pending_effect_ids = excluded.pending_effect_ids,
        context_projection_ref = excluded.context_projection_ref, saved_at = excluded.saved_at
$$;

CREATE FUNCTION close_turn(a attempts, n integer, at_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    t checkrein.turns;
BEGIN
    -- Several results may close a turn without actions; it counts once.
    UPDATE checkrein.turns SET status = 'CLOSED'
    WHERE attempt_id = a.attempt_id AND turn = n AND status <> 'CLOSED'
    RETURNING * INTO t;
    IF FOUND THEN
        UPDATE checkrein.attempts SET
            idle_turns = CASE WHEN t.usable = 0 AND t.waits_for IS NULL THEN idle_turns + 1
                              ELSE 0 END,
            denied_turns = CASE WHEN t.usable > 0 AND t.refused = t.usable THEN denied_turns + 1
                                ELSE 0 END
        WHERE attempt_id = a.attempt_id
          AND (idle_turns > 0 OR denied_turns > 0 OR t.usable = 0 OR t.refused = t.usable);
    END IF;
    PERFORM checkrein.save_checkpoint(a, at_seq);
END $$;

CREATE FUNCTION on_model(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    n integer := p ->> 'turn';
    cause bigint;
BEGIN
    IF kind = 'context_compiled' THEN
        INSERT INTO checkrein.turns
            (tenant, attempt_id, turn, status, sent, manifest_ref, lowest_trust, last_event)
        VALUES (a.tenant, a.attempt_id, n, 'COMPILED', p ->> 'sent', p ->> 'manifest_ref',
                p ->> 'lowest_trust', at_seq)
        ON CONFLICT (attempt_id, turn) DO UPDATE SET
            sent = excluded.sent, manifest_ref = excluded.manifest_ref,
            lowest_trust = excluded.lowest_trust, last_event = at_seq
        WHERE turns.status IN ('COMPILED', 'REQUESTED');
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', format('turn %s has its reply already', n));
        END IF;
        RETURN a.head_seq;
    END IF;
    cause := checkrein.step_turn(a.attempt_id, n, at_seq);
    IF kind = 'model_requested' THEN
        UPDATE checkrein.turns SET status = 'REQUESTED', model_tries = model_tries + 1,
            model = p ->> 'model'
        WHERE attempt_id = a.attempt_id AND turn = n AND status IN ('COMPILED', 'REQUESTED');
    ELSE
        UPDATE checkrein.turns SET status = 'RESPONDED', raw_ref = p ->> 'raw_ref',
            input_tokens = (p #>> '{usage,input_tokens}')::bigint,
            output_tokens = (p #>> '{usage,output_tokens}')::bigint,
            model_id = p ->> 'model_id', request_id = p ->> 'request_id'
        WHERE attempt_id = a.attempt_id AND turn = n AND status = 'REQUESTED';
    END IF;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', format('turn %s cannot take %s now', n, kind));
    END IF;
    RETURN cause;
END $$;

CREATE FUNCTION on_action(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    x json := p -> 'action';
    n integer := x ->> 'turn';
    cause bigint;
BEGIN
    INSERT INTO checkrein.actions (tenant, action_id, attempt_id, turn, position, revision, type,
        resource, side_effect_class, idempotency_key, args_hash, body, status, last_event)
    VALUES (a.tenant, x ->> 'action_id', a.attempt_id, n, (x ->> 'position')::integer,
        (x ->> 'revision')::integer, x ->> 'type', x ->> 'resource', x ->> 'side_effect_class',
        x ->> 'idempotency_key', x ->> 'args_hash', x,
        checkrein.next_status('action', 'PROPOSED', 'validated'), at_seq);
    IF (x ->> 'revision')::integer > 0 THEN
        -- Other arguments for the same call: it was counted when it was proposed.
        SELECT last_event INTO cause FROM checkrein.actions
        WHERE attempt_id = a.attempt_id AND turn = n AND position = (x ->> 'position')::integer
          AND revision = (x ->> 'revision')::integer - 1 AND status = 'SUPERSEDED';
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', 'no person put other arguments in its place');
        END IF;
        RETURN cause;
    END IF;
    UPDATE checkrein.turns SET open_calls = open_calls + 1, usable = usable + 1
    WHERE attempt_id = a.attempt_id AND turn = n AND status = 'RESPONDED'
    RETURNING last_event INTO cause;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', format('turn %s takes no action now', n));
    END IF;
    RETURN cause;
END $$;

CREATE FUNCTION on_decision(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id text := p ->> 'action_id';
    d json := p -> 'decision';
BEGIN
    INSERT INTO checkrein.decisions (tenant, attempt_id, seq, action_id, phase, body, input_ref)
    VALUES (a.tenant, a.attempt_id, at_seq, id, p ->> 'phase', d, d ->> 'input_ref');
    RETURN checkrein.step_action(a, id, CASE d ->> 'decision'
        WHEN 'ALLOW' THEN 'allowed' WHEN 'CONSTRAINED_ALLOW' THEN 'allowed'
        WHEN 'REQUIRE_APPROVAL' THEN 'asked' ELSE 'denied' END, at_seq, p ->> 'operation_hash');
END $$;

-- The newest words of a tenant, as kind:value.
CREATE FUNCTION live_authority(of_tenant text, of_verdict boolean) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(kind || ':' || value ORDER BY kind, value), '[]')
    FROM (SELECT DISTINCT ON (kind, value) kind, value, granted FROM checkrein.authority
          WHERE tenant = of_tenant ORDER BY kind, value, n DESC) AS newest
    WHERE granted = of_verdict
$$;

CREATE FUNCTION on_observation(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    o json := p -> 'observation';
    n integer := o ->> 'turn';
    outcome text := o ->> 'status';
    was text;
    cause bigint;
    left_open integer;
BEGIN
    INSERT INTO checkrein.observations
    VALUES (a.tenant, a.attempt_id, n, (o ->> 'position')::integer, o ->> 'action_id', o);
    SELECT status INTO was FROM checkrein.actions WHERE action_id = o ->> 'action_id';
    IF FOUND THEN
        cause := checkrein.step_action(a, o ->> 'action_id', CASE
            WHEN was IN ('VALIDATED', 'AUTHORIZED', 'WAITING_APPROVAL', 'PENDING') THEN CASE
                WHEN outcome = 'ok' THEN 'succeeded'
                WHEN outcome = 'no_change' THEN 'no_change'
                WHEN outcome = 'skipped' THEN 'cancelled'
                WHEN outcome = 'denied' THEN 'denied'
                ELSE 'not_applicable' END
            END, at_seq);
        IF outcome IN ('denied', 'rejected') THEN
            UPDATE checkrein.attempts SET denials = denials + 1 WHERE attempt_id = a.attempt_id;
        END IF;
        -- What was once read may turn up in anything that the model writes afterwards.
        IF o ->> 'private' = 'true' AND NOT a.private_seen THEN
            UPDATE checkrein.attempts SET private_seen = true WHERE attempt_id = a.attempt_id;
        END IF;
        IF o ->> 'trust' IN ('tool', 'external') AND NOT a.untrusted_seen THEN
            UPDATE checkrein.attempts SET untrusted_seen = true WHERE attempt_id = a.attempt_id;
        END IF;
        UPDATE checkrein.turns SET open_calls = open_calls - 1,
            refused = refused + (outcome IN ('denied', 'rejected'))::integer
        WHERE attempt_id = a.attempt_id AND turn = n RETURNING open_calls INTO left_open;
    ELSE
        cause := checkrein.step_turn(a.attempt_id, n, at_seq);
        SELECT open_calls INTO left_open FROM checkrein.turns
        WHERE attempt_id = a.attempt_id AND turn = n AND status IN ('RESPONDED', 'CLOSED');
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', format('turn %s has no call yet', n));
        END IF;
    END IF;
    IF left_open = 0 THEN
        PERFORM checkrein.close_turn(a, n, at_seq);
    END IF;
    RETURN cause;
END $$;

-- A run that goes in circles: the notice stands until a person has answered or a newer one comes.
CREATE FUNCTION on_notice(a attempts, p json) RETURNS void
LANGUAGE sql AS $$
    UPDATE checkrein.attempts SET progress = p::jsonb - 'v' - 'type' || jsonb_build_object(
        'answered', false,
        'switched', p ->> 'rung' = 'switch' OR coalesce((progress ->> 'switched')::boolean, false))
    WHERE attempt_id = a.attempt_id
$$;

-- The answer to the question at the end of that ladder stands beside the last closed turn.
CREATE FUNCTION answer_notice(a attempts, p json, at_seq bigint) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    n integer;
BEGIN
    UPDATE checkrein.attempts SET progress = progress || '{"answered": true, "switched": false}'
    WHERE attempt_id = a.attempt_id AND progress ->> 'rung' = 'person'
      AND NOT (progress ->> 'answered')::boolean;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'nothing waits for an answer; `checkrein status` tells what the attempt waits for');
    END IF;
    SELECT max(turn) INTO n FROM checkrein.turns
    WHERE attempt_id = a.attempt_id AND status = 'CLOSED';
    UPDATE checkrein.turns SET answer = p ->> 'text' WHERE attempt_id = a.attempt_id AND turn = n;
    PERFORM checkrein.save_checkpoint(a, at_seq);
    RETURN n;
END $$;

CREATE FUNCTION on_talk(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    n integer := p ->> 'turn';
BEGIN
    IF kind = 'user_answered' THEN
        SELECT max(turn) INTO n FROM checkrein.turns WHERE attempt_id = a.attempt_id;
        UPDATE checkrein.turns SET answer = p ->> 'text'
        WHERE attempt_id = a.attempt_id AND turn = n AND waits_for IS NOT NULL
          AND status = 'RESPONDED';
        IF FOUND THEN
            PERFORM checkrein.close_turn(a, n, at_seq);
        ELSE
            n := checkrein.answer_notice(a, p, at_seq);
        END IF;
    ELSE
        UPDATE checkrein.turns SET text = coalesce(p ->> 'question', p ->> 'why'),
            waits_call = p ->> 'call_id',
            waits_for = CASE kind WHEN 'question_asked' THEN 'question' ELSE 'stopped' END
        WHERE attempt_id = a.attempt_id AND turn = n AND status = 'RESPONDED';
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', format('turn %s cannot wait now', n));
        END IF;
    END IF;
    RETURN checkrein.step_turn(a.attempt_id, n, at_seq);
END $$;

CREATE FUNCTION on_gate(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    n integer := p ->> 'turn';
BEGIN
    IF kind = 'candidate_sealed' THEN
        PERFORM checkrein.step_attempt(a.attempt_id, 'sealed');
        UPDATE checkrein.attempts SET verification = NULL, candidate = json_build_object(
            'summary', p -> 'summary', 'state_digest', p -> 'state_digest',
            'candidate_hash', p -> 'candidate_hash')
        WHERE attempt_id = a.attempt_id;
        UPDATE checkrein.turns SET usable = usable + 1
        WHERE attempt_id = a.attempt_id AND turn = n AND status = 'RESPONDED';
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', format('turn %s has no candidate now', n));
        END IF;
    ELSIF kind = 'verification_finished' THEN
        INSERT INTO checkrein.verifications
        VALUES (a.tenant, a.attempt_id, n, p -> 'result', (p ->> 'repair')::boolean);
        UPDATE checkrein.attempts SET verification = p -> 'result' WHERE attempt_id = a.attempt_id;
        IF (p ->> 'repair')::boolean THEN
            PERFORM checkrein.step_attempt(a.attempt_id, 'repair');
            UPDATE checkrein.attempts SET candidate = NULL WHERE attempt_id = a.attempt_id;
            PERFORM checkrein.close_turn(a, n, at_seq);
        END IF;
    END IF;
    RETURN checkrein.step_turn(a.attempt_id, n, at_seq);
END $$;

-- What a judge says is about the sealed state alone; the event itself is what is kept of it.
CREATE FUNCTION on_opinion(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM checkrein.attempts x WHERE x.attempt_id = a.attempt_id
                   AND x.status IN ('VERIFYING', 'CANCELLING')
                   AND x.candidate ->> 'state_digest' = p ->> 'state_digest') THEN
        PERFORM checkrein.refuse('CR002', 'a judge speaks of the sealed state alone');
    END IF;
    RETURN checkrein.step_turn(a.attempt_id, (p ->> 'turn')::integer, at_seq);
END $$;

-- A question is about the sealed state; an answer to no open question is refused.
CREATE FUNCTION on_judgement(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    n integer := p ->> 'turn';
BEGIN
    IF a.cancel_reason IS NOT NULL THEN
        PERFORM checkrein.refuse('CR003', 'the attempt is being cancelled');
    END IF;
    IF kind = 'judgement_asked' THEN
        IF NOT EXISTS (SELECT FROM checkrein.attempts x WHERE x.attempt_id = a.attempt_id
                       AND x.status = 'VERIFYING'
                       AND x.candidate ->> 'state_digest' = p ->> 'state_digest') THEN
            PERFORM checkrein.refuse('CR002', 'people are asked about the sealed state alone');
        END IF;
        INSERT INTO checkrein.judgements (tenant, attempt_id, turn, state_digest, check_name, role,
            question, asked_at)
        VALUES (a.tenant, a.attempt_id, n, p ->> 'state_digest', p ->> 'check', p ->> 'role',
            p ->> 'question', at_seq)
        -- Asked anew, where who said so may not any more.
        ON CONFLICT (attempt_id, state_digest, check_name) DO UPDATE SET turn = excluded.turn,
            verdict = NULL, said_by = '', authenticated = false, note = '', asked_at = at_seq;
    ELSE
        PERFORM checkrein.check_may_judge(a, j.role, p) FROM checkrein.judgements j
        WHERE j.attempt_id = a.attempt_id AND j.state_digest = p ->> 'state_digest'
          AND j.check_name = p ->> 'check' AND j.verdict IS NULL;
        UPDATE checkrein.judgements SET verdict = p ->> 'verdict', said_by = p ->> 'by',
            authenticated = (p ->> 'authenticated')::boolean, note = p ->> 'note'
        WHERE attempt_id = a.attempt_id AND state_digest = p ->> 'state_digest'
          AND check_name = p ->> 'check' AND verdict IS NULL
        RETURNING turn INTO n;
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', 'nobody is asked to judge that state, or somebody has judged it already; `checkrein status` tells what is asked');
        END IF;
    END IF;
    RETURN checkrein.step_turn(a.attempt_id, n, at_seq);
END $$;

CREATE FUNCTION end_attempt(a attempts, p json, at_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ending text := p ->> 'status';
    x checkrein.attempts;
BEGIN
    SELECT * INTO x FROM checkrein.attempts WHERE attempt_id = a.attempt_id;
    IF ending = 'CANDIDATE_VERIFIED' AND (x.verification ->> 'status' IS DISTINCT FROM 'PASS'
        OR x.verification ->> 'state_digest' IS DISTINCT FROM x.candidate ->> 'state_digest') THEN
        PERFORM checkrein.refuse('CR002', 'no accepted verification of the sealed candidate');
    END IF;
    IF ending = 'CANDIDATE_VERIFIED' AND x.body ->> 'purpose' = 'commit'
       AND x.verification ->> 'state_digest' IS DISTINCT FROM x.body #>> '{commit,state_digest}' THEN
        PERFORM checkrein.refuse('CR002', 'another state was looked at than the commit hands over');
    END IF;
    PERFORM checkrein.step_attempt(a.attempt_id, CASE ending
        WHEN 'CANDIDATE_VERIFIED' THEN 'verified' WHEN 'FAILED_VERIFICATION' THEN 'not_verified'
        WHEN 'CANCELLED' THEN 'cancelled' ELSE 'ended:' || ending END);
    -- A commit that fails takes nothing from what was verified.
    PERFORM checkrein.step_task(a.task_id, CASE
        WHEN a.body ->> 'purpose' = 'commit' THEN
            CASE ending WHEN 'CANDIDATE_VERIFIED' THEN 'completed' ELSE 'commit_failed' END
        WHEN ending = 'CANDIDATE_VERIFIED' THEN 'verified'
        WHEN ending = 'CANCELLED' THEN 'cancelled'
        WHEN (p ->> 'needs_escalation')::boolean THEN 'escalated' ELSE 'failed' END);
    UPDATE checkrein.actions SET status = checkrein.next_status('action', status, 'cancelled')
    WHERE attempt_id = a.attempt_id
      AND status IN ('VALIDATED', 'AUTHORIZED', 'WAITING_APPROVAL', 'PENDING');
    UPDATE checkrein.approvals SET status = checkrein.next_status('approval', status, 'revoked')
    WHERE attempt_id = a.attempt_id AND status IN ('PREPARED', 'PENDING', 'GRANTED');
    UPDATE checkrein.attempts SET detail = p ->> 'detail' WHERE attempt_id = a.attempt_id;
    PERFORM checkrein.settle_rest(a);
    PERFORM checkrein.save_checkpoint(a, at_seq);
END $$;

-- A person signs what was verified: after the end, that very state, and once.
CREATE FUNCTION accept_state(a attempts, p json) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF a.status <> 'CANDIDATE_VERIFIED' OR a.body ->> 'purpose' = 'commit' THEN
        PERFORM checkrein.refuse('CR002', 'only what was verified can be accepted', a.status);
    ELSIF p ->> 'state_digest' IS DISTINCT FROM a.verification ->> 'state_digest'
       OR p ->> 'candidate_hash' IS DISTINCT FROM a.candidate ->> 'candidate_hash' THEN
        PERFORM checkrein.refuse('CR002', 'another state was verified than is accepted');
    END IF;
    PERFORM checkrein.check_may_accept(a, p);
    INSERT INTO checkrein.acceptances
    VALUES (a.tenant, a.attempt_id, p ->> 'by', p::jsonb - 'v' - 'type') ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', format('%s has accepted it already', p ->> 'by'));
    END IF;
END $$;

CREATE FUNCTION on_attempt(a attempts, kind text, p json, at_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    CASE kind
    WHEN 'checkpoint_saved' THEN
        PERFORM checkrein.save_checkpoint(a, at_seq);
    WHEN 'suspended' THEN
        PERFORM checkrein.step_attempt(a.attempt_id, 'suspended:' || (p ->> 'status'));
        UPDATE checkrein.attempts SET detail = p ->> 'reason' WHERE attempt_id = a.attempt_id;
    WHEN 'run_resumed' THEN
        PERFORM checkrein.step_attempt(a.attempt_id, 'resumed');
        -- A pause that was asked for before a crash still holds for whoever recovers.
        UPDATE checkrein.attempts SET exhausted = NULL, unfinished = '[]', detail = '',
            pause_requested = pause_requested AND p ->> 'how' <> 'resume'
        WHERE attempt_id = a.attempt_id;
    WHEN 'cancel_requested' THEN
        PERFORM checkrein.step_attempt(a.attempt_id, 'cancel_requested');
        UPDATE checkrein.attempts SET cancel_reason = p ->> 'reason'
        WHERE attempt_id = a.attempt_id;
    WHEN 'pause_requested' THEN
        UPDATE checkrein.attempts SET pause_requested = true WHERE attempt_id = a.attempt_id;
    WHEN 'budget_exhausted' THEN
        UPDATE checkrein.attempts SET exhausted = p ->> 'budget', unfinished = coalesce(p -> 'unfinished', '[]')
        WHERE attempt_id = a.attempt_id;
    WHEN 'no_progress_noticed' THEN
        PERFORM checkrein.on_notice(a, p);
    WHEN 'attempt_ended' THEN
        PERFORM checkrein.end_attempt(a, p, at_seq);
    ELSE
        NULL;  -- retry_scheduled, cancelled, policy_...: facts without a row of their own
    END CASE;
END $$;

-- Apply one event to the tables; returns the seq of the event that it follows from.
CREATE FUNCTION project(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    cause bigint;
BEGIN
    CASE kind
    WHEN 'context_compiled', 'model_requested', 'model_responded' THEN
        RETURN checkrein.on_model(a, kind, p, at_seq);
    WHEN 'budget_reserved', 'budget_settled' THEN
        PERFORM checkrein.on_budget(a, p);
        RETURN a.head_seq;
    WHEN 'budget_warning' THEN
        PERFORM checkrein.warn_of_budget(a, p);
        RETURN a.head_seq;
    WHEN 'budget_raised' THEN
        PERFORM checkrein.raise_budget(a, p);
        RETURN a.head_seq;
    WHEN 'action_proposed' THEN RETURN checkrein.on_action(a, p, at_seq);
    WHEN 'policy_decided' THEN RETURN checkrein.on_decision(a, p, at_seq);
    WHEN 'approval_prepared', 'approval_requested', 'approval_decided', 'approval_escalated',
         'approval_expired', 'approval_granted', 'approval_stale' THEN
        cause := checkrein.on_approval(a, kind, p, at_seq);
        PERFORM checkrein.reckon_approvals(a);
        RETURN cause;
    WHEN 'plan_accepted' THEN RETURN checkrein.accept_plan(a, p, at_seq);
    WHEN 'result_accepted' THEN RETURN checkrein.accept_result(a, p, at_seq);
    WHEN 'permission_used' THEN RETURN checkrein.use_permission(a, p, at_seq);
    WHEN 'intent_bound' THEN RETURN checkrein.bind_intent(a, p, at_seq);
    WHEN 'effect_executing' THEN RETURN checkrein.mark_executing(a, p, at_seq);
    WHEN 'effect_committed', 'effect_refused', 'effect_unknown', 'effect_reconciled',
         'effect_denied' THEN
        RETURN checkrein.on_effect(a, kind, p, at_seq);
    WHEN 'effect_retried' THEN RETURN checkrein.retry_effect(a, p, at_seq);
    WHEN 'effect_pending' THEN RETURN checkrein.wait_for_effect(a, p, at_seq);
    WHEN 'effect_verified' THEN RETURN checkrein.verify_effect(a, p, at_seq);
    WHEN 'action_deduplicated' THEN
        RETURN checkrein.step_action(a, p ->> 'action_id', 'deduplicated', at_seq);
    WHEN 'secret_leased', 'secret_released' THEN
        RETURN checkrein.on_secret(a, kind, p, at_seq);
    WHEN 'observation' THEN RETURN checkrein.on_observation(a, p, at_seq);
    WHEN 'question_asked', 'user_answered', 'turn_stopped' THEN
        RETURN checkrein.on_talk(a, kind, p, at_seq);
    WHEN 'candidate_sealed', 'verification_started', 'verification_finished' THEN
        RETURN checkrein.on_gate(a, kind, p, at_seq);
    WHEN 'judge_answered' THEN RETURN checkrein.on_opinion(a, p, at_seq);
    WHEN 'judgement_asked', 'judgement_given' THEN
        RETURN checkrein.on_judgement(a, kind, p, at_seq);
    WHEN 'user_accepted' THEN
        PERFORM checkrein.accept_state(a, p);
        RETURN a.head_seq;
    WHEN 'checkpoint_saved', 'suspended', 'run_resumed', 'cancel_requested', 'pause_requested',
         'cancelled', 'attempt_ended', 'budget_exhausted', 'retry_scheduled', 'policy_reloaded',
         'policy_refused', 'no_progress_noticed', 'environment_chosen', 'approval_shown' THEN
        PERFORM checkrein.on_attempt(a, kind, p, at_seq);
        RETURN nullif(a.head_seq, 0);
    ELSE
        PERFORM checkrein.refuse('CR009', format('unknown event type %s', kind));
    END CASE;
END $$;

-- Chain one event to the attempt's head and store it. Returns the new head's hash.
CREATE FUNCTION store_event(a attempts, kind text, payload text, at_seq bigint, cause bigint)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    stamp text := to_char(checkrein.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
    h bytea;
BEGIN
    h := sha256(convert_to(concat_ws(E'\n', a.attempt_id, at_seq, a.attempt_id || '/' || at_seq,
        coalesce(a.attempt_id || '/' || cause, ''), kind, stamp,
        'sha256:' || encode(a.head_hash, 'hex'), payload), 'UTF8'));
    INSERT INTO checkrein.events
    VALUES (a.tenant, a.attempt_id, at_seq, cause, kind, stamp, payload, a.head_hash, h);
    RETURN h;
END $$;

-- With `look`, returns where the attempt stands then, which saves the next reader a round trip.
CREATE FUNCTION append(of_attempt text, under_fence bigint, kinds text[], payloads text[],
                       data bytea[], look boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
DECLARE
    a attempts;
    cause bigint;
    i integer;
BEGIN
    SELECT * INTO a FROM attempts WHERE attempt_id = of_attempt FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM refuse('CR004', format('there is no attempt %s', of_attempt));
    ELSIF under_fence IS NOT NULL AND (a.lease_owner IS NULL OR a.lease_fence <> under_fence
                                       OR a.lease_until <= checkrein.now()) THEN
        PERFORM refuse('CR001', format('fence %s no longer owns the attempt', under_fence));
    ELSIF under_fence IS NULL AND NOT kinds <@ ARRAY['approval_decided', 'approval_escalated',
            'approval_expired', 'approval_shown', 'budget_raised', 'cancel_requested', 'judgement_given',
            'pause_requested', 'user_accepted', 'user_answered'] THEN
        PERFORM refuse('CR009', 'only requests may be recorded without the lease');
    ELSIF has_ended(a.status)
          AND NOT (under_fence IS NULL AND kinds = ARRAY['user_accepted']) THEN
        PERFORM refuse('CR008', format('the attempt has ended: %s', a.status), a.status);
    END IF;
    INSERT INTO blobs SELECT a.tenant, 'sha256:' || encode(sha256(d), 'hex'), d
    FROM unnest(data) AS d ON CONFLICT DO NOTHING;
    IF array_position(kinds, 'attempt_ended') < cardinality(kinds) THEN
        PERFORM refuse('CR008', 'nothing follows the end of an attempt');
    END IF;
    FOR i IN 1 .. cardinality(kinds) LOOP
        cause := project(a, kinds[i], payloads[i]::json, a.head_seq + 1);
        PERFORM put_out(a, kinds[i], payloads[i], a.head_seq + 1);
        a.head_hash := store_event(a, kinds[i], payloads[i], a.head_seq + 1, cause);
        a.head_seq := a.head_seq + 1;
    END LOOP;
    UPDATE attempts SET head_seq = a.head_seq, head_hash = a.head_hash
    WHERE attempt_id = of_attempt;
    RETURN CASE WHEN look THEN position_of(of_attempt) END;
END $$;

-- Record a person's word on what may be done: taken back, or given.
CREATE FUNCTION say(of_tenant text, of_kind text, of_value text, is_granted boolean, who text,
                    why text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
    INSERT INTO authority (tenant, kind, value, granted, said_by, reason, at)
    VALUES (of_tenant, of_kind, of_value, is_granted, who, why, checkrein.now())
$$;

-- The final commit may only be of what stands verified, by the commit authority, one at a time.
-- The task's row is locked, so that of two only one finds the other not there.
CREATE FUNCTION check_commit(x json, of_contract json) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    c json := x -> 'commit';
    other text;
    w checkrein.attempts;
BEGIN
    SELECT attempt_id INTO other FROM checkrein.attempts
    WHERE task_id = x ->> 'task_id' AND body ->> 'purpose' = 'commit' AND status NOT IN (
        'CANDIDATE_VERIFIED', 'FAILED_VERIFICATION', 'POLICY_BLOCKED', 'ENVIRONMENT_ERROR',
        'MODEL_ERROR', 'FAILED', 'CANCELLED');
    IF FOUND THEN
        PERFORM checkrein.refuse('CR002', format('a commit of the task is under way: %s', other),
            other);
    END IF;
    SELECT a.* INTO w FROM checkrein.attempts a JOIN checkrein.tasks t USING (task_id)
    WHERE a.attempt_id = c ->> 'attempt_id' AND a.task_id = x ->> 'task_id'
      AND a.status = 'CANDIDATE_VERIFIED' AND checkrein.is_authority(t.contract, c ->> 'by')
      AND coalesce(a.body ->> 'purpose', 'work') = 'work';
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002',
            'only the commit authority can commit, and only what was verified');
    ELSIF w.verification ->> 'state_digest' IS DISTINCT FROM c ->> 'state_digest'
       OR w.candidate ->> 'candidate_hash' IS DISTINCT FROM c ->> 'candidate_hash'
       OR w.contract::jsonb <> of_contract::jsonb THEN
        PERFORM checkrein.refuse('CR002', 'another state was verified than is to be committed');
    ELSIF c ->> 'by' = 'anonymous' THEN
        PERFORM checkrein.refuse('CR006', 'nobody in particular cannot commit', 'identity');
    END IF;
    PERFORM checkrein.check_known(w.tenant, w.contract, c ->> 'by', (c ->> 'authenticated')::boolean);
END $$;

-- Limits as they are compared: one that is null is none.
CREATE FUNCTION given_limits(limits json) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_strip_nulls(limits::jsonb)
$$;

-- What stands in a task's row is its contract's to say.
CREATE FUNCTION check_task(k json, of_contract json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    field text;
BEGIN
    FOREACH field IN ARRAY ARRAY['tenant', 'risk', 'requested_by', 'commit_authority'] LOOP
        IF k ->> field IS DISTINCT FROM of_contract ->> field THEN
            PERFORM checkrein.refuse('CR002',
                format('the %s of a task is not that of its contract', field), field);
        END IF;
    END LOOP;
    IF checkrein.given_limits(k -> 'budget') IS DISTINCT FROM checkrein.given_limits(of_contract -> 'budgets') THEN
        PERFORM checkrein.refuse('CR002', 'the budget of a task is not that of its contract', 'budget');
    END IF;
END $$;

-- Of one commit attempt: one act, its repeats, and the look at what came of it (graph/commit.py).
CREATE FUNCTION commit_budgets() RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT '{"steps": 4, "model_tokens": 1000000, "wall_time_s": 3600, "tool_calls": 20,
        "repairs": 0}'::jsonb
$$;

-- An attempt has its task's contract, its task's budgets and its task's parent, whoever starts it.
CREATE FUNCTION check_attempt(x json, p json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t checkrein.tasks;
    limits jsonb;
BEGIN
    SELECT * INTO t FROM checkrein.tasks WHERE task_id = x ->> 'task_id';
    -- The text first: it is the same in all but a forged case, and may hold what jsonb does not.
    IF t.contract::text IS DISTINCT FROM (p -> 'contract')::text THEN
        IF t.contract::jsonb IS DISTINCT FROM (p -> 'contract')::jsonb THEN
            PERFORM checkrein.refuse('CR002', 'the contract of an attempt is its task''s', 'contract');
        END IF;
    END IF;
    limits := CASE x ->> 'purpose' WHEN 'commit' THEN checkrein.commit_budgets()
                                   ELSE checkrein.given_limits(t.contract -> 'budgets') END;
    IF checkrein.given_limits(p -> 'budgets') IS DISTINCT FROM limits THEN
        PERFORM checkrein.refuse('CR002', 'the budgets of an attempt are those of its task', 'budgets');
    ELSIF x ->> 'parent' IS DISTINCT FROM t.parent THEN
        PERFORM checkrein.refuse('CR002', 'an attempt draws on the parent of its task', 'parent');
    END IF;
END $$;

-- Create a task (with task_created) and one attempt of it, which nobody owns yet.
CREATE FUNCTION start(kinds text[], payloads text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
DECLARE
    p json;
    k json;
    x json;
    a attempts;
    i integer;
BEGIN
    FOR i IN 1 .. cardinality(kinds) LOOP
        p := payloads[i];
        IF kinds[i] = 'task_created' THEN
            k := p -> 'task';
            INSERT INTO tasks VALUES (k ->> 'tenant', k ->> 'task_id', k ->> 'contract_version',
                p -> 'contract', k -> 'input_refs', k ->> 'risk', k -> 'budget',
                k ->> 'requested_by', k ->> 'commit_authority', 'CREATED', checkrein.now(),
                k ->> 'parent');
            PERFORM check_task(k, p -> 'contract');
            IF json_typeof(p #> '{contract,shared_budgets}') = 'object' THEN
                PERFORM open_pool(k ->> 'tenant', k ->> 'task_id', 'task',
                                  p #> '{contract,shared_budgets}');
            END IF;
        ELSIF kinds[i] = 'attempt_started' THEN
            x := p -> 'attempt';
            IF x ->> 'purpose' = 'commit' THEN
                PERFORM step_task(x ->> 'task_id', 'commit_started');
                PERFORM check_commit(x, p -> 'contract');
            ELSE
                PERFORM step_task(x ->> 'task_id', 'attempt_started');
            END IF;
            IF EXISTS (SELECT FROM tasks WHERE task_id = x ->> 'task_id') THEN
                PERFORM check_attempt(x, p);
            END IF;
            INSERT INTO attempts (tenant, attempt_id, task_id, number, body, contract, status,
                started_at)
            SELECT tenant, x ->> 'attempt_id', task_id, (x ->> 'number')::integer, x,
                p -> 'contract', 'RUNNING', checkrein.now()
            FROM tasks WHERE task_id = x ->> 'task_id' RETURNING * INTO a;
            IF a.attempt_id IS NULL THEN
                PERFORM refuse('CR004', format('there is no task %s', x ->> 'task_id'));
            END IF;
            PERFORM begin_drawing(a, p);
        ELSE
            PERFORM refuse('CR009', format('an attempt cannot start with %s', kinds[i]));
        END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(kinds) LOOP
        a.head_hash := store_event(a, kinds[i], payloads[i], a.head_seq + 1,
                                   nullif(a.head_seq, 0));
        a.head_seq := a.head_seq + 1;
    END LOOP;
    UPDATE attempts SET head_seq = a.head_seq, head_hash = a.head_hash
    WHERE attempt_id = a.attempt_id;
END $$;
