-- What people's answers do to requests, actions and permissions; `project` calls these.

-- Whether the contract gives a person a role.
CREATE FUNCTION has_role(of_contract json, role text, who text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce((of_contract #> ARRAY['approvals', 'roles', role])::jsonb ? who, false)
$$;

-- The commit authority is named by a role of the contract, or by its own name.
CREATE FUNCTION is_authority(of_contract json, who text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(who = of_contract ->> 'commit_authority'
        OR checkrein.has_role(of_contract, of_contract ->> 'commit_authority', who), false)
$$;

-- Asserted names are good up to the risk that the contract says, and nobody who was revoked counts.
CREATE FUNCTION check_known(of_tenant text, of_contract json, who text, proven boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ranks text[] := ARRAY['low', 'medium', 'high'];
BEGIN
    IF NOT proven AND array_position(ranks, of_contract ->> 'risk')
       > array_position(ranks, of_contract #>> '{approvals,asserted_up_to}') THEN
        PERFORM checkrein.refuse('CR006', format('the name %s is only asserted', who), 'identity');
    ELSIF NOT coalesce((SELECT granted FROM checkrein.authority WHERE tenant = of_tenant
                        AND kind = 'user' AND value = who ORDER BY n DESC LIMIT 1), true) THEN
        PERFORM checkrein.refuse('CR010', format('user:%s is revoked', who), 'user:' || who);
    END IF;
END $$;

-- Who may judge a sealed state: the people of the role that was asked, but for whoever asked for
-- the task where duties are separated.
CREATE FUNCTION check_may_judge(a attempts, role text, p json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    who text := p ->> 'by';
BEGIN
    IF NOT checkrein.has_role(a.contract, role, who) AND NOT (who = 'anonymous'
        AND (a.contract #>> '{approvals,anonymous}')::boolean) THEN
        PERFORM checkrein.refuse('CR006', format('%s may not judge as %s', who, role), 'role');
    ELSIF (a.contract #>> '{approvals,separation_of_duty}')::boolean
          AND who = a.contract ->> 'requested_by' THEN
        PERFORM checkrein.refuse('CR006', format('%s asked for this task', who), 'requester');
    END IF;
    PERFORM checkrein.check_known(a.tenant, a.contract, who, (p ->> 'authenticated')::boolean);
END $$;

-- Who may sign what was verified: an accepter, or whoever asked for it; under that very word.
CREATE FUNCTION check_may_accept(a attempts, p json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    who text := p ->> 'by';
    as_what text := CASE WHEN checkrein.has_role(a.contract, 'accepter', who) THEN 'accepter'
                         WHEN who = a.contract ->> 'requested_by' THEN 'requester' END;
BEGIN
    IF as_what IS NULL OR as_what IS DISTINCT FROM p ->> 'authority' THEN
        PERFORM checkrein.refuse('CR006', format('%s may not accept this result', who), 'role');
    ELSIF who = 'anonymous' THEN
        PERFORM checkrein.refuse('CR006', 'nobody in particular cannot sign', 'identity');
    END IF;
    PERFORM checkrein.check_known(a.tenant, a.contract, who, (p ->> 'authenticated')::boolean);
END $$;

-- How many people said yes and still may: one whose name was revoked since does not count.
CREATE FUNCTION yes_count(r approvals) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT count(*) FROM checkrein.grants g
    WHERE g.approval_id = r.approval_id AND g.answer = 'approve'
      AND coalesce((SELECT w.granted FROM checkrein.authority w WHERE w.tenant = r.tenant
                    AND w.kind = 'user' AND w.value = g.approver ORDER BY n DESC LIMIT 1), true)
$$;

-- A yes that reaches further than its action. One person's word is never spread over what a
-- quorum would have to agree on each time.
CREATE FUNCTION permit(a attempts, r approvals, p json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := checkrein.now()
        + make_interval(secs => (p #>> '{reach,lasts_s}')::integer);
BEGIN
    IF p ->> 'answer' <> 'approve' OR (r.body #>> '{terms,quorum}')::integer > 1
       OR NOT (r.body #> '{terms,scopes}')::jsonb ? (p #>> '{reach,scope}') THEN
        PERFORM checkrein.refuse('CR006', 'the request offers no yes that reaches so far', 'scope');
    END IF;
    INSERT INTO checkrein.permissions VALUES (a.tenant, r.approval_id, a.task_id,
        r.body ->> 'capability', json_build_object('permission_id', r.approval_id,
            'capability', r.body -> 'capability', 'args', r.body -> 'args',
            'bounds', p #> '{reach,bounds}', 'constraints', r.body -> 'constraints',
            'scope', p #> '{reach,scope}', 'given_by', p -> 'approver',
            'authenticated', p -> 'authenticated'),
        (p #>> '{reach,uses}')::integer, until);
END $$;

-- Plan mode ends by a person's yes to this very plan, and by nothing else.
CREATE FUNCTION accept_plan(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM checkrein.approvals r
                   JOIN checkrein.actions x ON x.action_id = r.action_id
                   WHERE r.action_id = p ->> 'action_id' AND r.attempt_id = a.attempt_id
                     AND r.status = 'USED' AND r.body ->> 'level' = 'plan'
                     AND x.args_hash = p ->> 'plan') THEN
        PERFORM checkrein.refuse('CR006', 'no person has accepted this plan', 'plan');
    END IF;
    UPDATE checkrein.attempts SET plan_accepted = p ->> 'plan' WHERE attempt_id = a.attempt_id;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

CREATE FUNCTION accept_result(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM checkrein.approvals r
                   WHERE r.action_id = p ->> 'action_id' AND r.attempt_id = a.attempt_id
                     AND r.status = 'USED' AND r.body ->> 'level' = 'result'
                     AND r.resource_version = p ->> 'state_digest') THEN
        PERFORM checkrein.refuse('CR006', 'no person has accepted this result', 'result');
    END IF;
    UPDATE checkrein.attempts SET result_accepted = p ->> 'state_digest'
    WHERE attempt_id = a.attempt_id;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $$;

-- One use of a permission, in the transaction that sends: of this task, this capability, still
-- good, and not taken back.
CREATE FUNCTION use_permission(a attempts, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF a.cancel_reason IS NOT NULL THEN
        PERFORM checkrein.refuse('CR003', 'the attempt is being cancelled');
    END IF;
    UPDATE checkrein.permissions m SET uses_left = uses_left - 1
    FROM checkrein.actions x
    WHERE m.permission_id = p ->> 'permission_id' AND m.task_id = a.task_id
      AND x.action_id = p ->> 'action_id' AND x.type = m.capability
      AND m.uses_left > 0 AND m.expires_at > checkrein.now()
      AND coalesce((SELECT w.granted FROM checkrein.authority w WHERE w.tenant = a.tenant
                    AND w.kind = 'grant' AND w.value = m.permission_id ORDER BY n DESC LIMIT 1),
                   true);
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR006', 'the permission is used up, over or taken back', 'permission');
    END IF;
    UPDATE checkrein.actions SET permission_id = p ->> 'permission_id'
    WHERE action_id = p ->> 'action_id';
    RETURN checkrein.step_action(a, p ->> 'action_id', 'granted', at_seq);
END $$;

CREATE FUNCTION decide_approval(a attempts, r approvals, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    said text := p ->> 'answer';
    enough boolean;
BEGIN
    PERFORM checkrein.next_status('approval', r.status, 'counted');  -- it must be open
    INSERT INTO checkrein.grants (tenant, approval_id, approver, answer, authority, authenticated,
        reason, args, reach, decided_at)
    VALUES (a.tenant, r.approval_id, p ->> 'approver', said, p ->> 'authority',
        (p ->> 'authenticated')::boolean, p ->> 'reason',
        CASE json_typeof(p -> 'args') WHEN 'null' THEN NULL ELSE p -> 'args' END,
        CASE json_typeof(p -> 'reach') WHEN 'null' THEN NULL ELSE p -> 'reach' END,
        checkrein.now())
    -- Whoever said yes may still say no, as long as the others have not said theirs.
    ON CONFLICT (approval_id, approver) DO UPDATE SET answer = excluded.answer,
        authority = excluded.authority, authenticated = excluded.authenticated,
        reason = excluded.reason, args = excluded.args, reach = excluded.reach, decided_at = excluded.decided_at
    WHERE excluded.answer <> 'approve';
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR006',
            format('%s has answered this request already; one person counts once', p ->> 'approver'),
            'said_already');
    END IF;
    enough := checkrein.yes_count(r) >= (r.body #>> '{terms,quorum}')::integer;
    PERFORM checkrein.step_approval(r.approval_id, CASE
        WHEN said = 'approve' AND enough THEN 'granted' WHEN said = 'approve' THEN 'counted'
        WHEN said = 'reject' THEN 'rejected' ELSE 'superseded' END);
    IF p #>> '{reach,scope}' IN ('task', 'class') THEN
        PERFORM checkrein.permit(a, r, p);
    END IF;
    RETURN checkrein.step_action(a, r.action_id, CASE said WHEN 'approve' THEN NULL
        WHEN 'reject' THEN 'rejected' ELSE 'superseded' END, at_seq);
END $$;

CREATE FUNCTION on_approval(a attempts, kind text, p json, at_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    x json := p -> 'approval';
    id text := coalesce(x ->> 'approval_id', p ->> 'approval_id');
    r checkrein.approvals;
BEGIN
    IF kind = 'approval_prepared' THEN
        INSERT INTO checkrein.approvals (tenant, approval_id, attempt_id, action_id,
            request_revision, body, operation_hash, resource_version, status)
        VALUES (a.tenant, id, a.attempt_id, x ->> 'action_id', (x ->> 'request_revision')::integer,
            x, x ->> 'operation_hash', x ->> 'resource_version', 'PREPARED');
        RETURN checkrein.step_action(a, x ->> 'action_id', NULL, at_seq);
    END IF;
    SELECT * INTO r FROM checkrein.approvals WHERE approval_id = id AND attempt_id = a.attempt_id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('there is no approval %s in this attempt', id));
    END IF;
    IF r.action_id <> p ->> 'action_id' THEN
        PERFORM checkrein.refuse('CR006', 'the approval is for another action', 'action');
    END IF;
    IF kind IN ('approval_decided', 'approval_granted') THEN
        IF a.cancel_reason IS NOT NULL THEN
            PERFORM checkrein.refuse('CR003', 'the attempt is being cancelled');
        END IF;
        IF r.status IN ('PENDING', 'GRANTED') AND r.expires_at <= checkrein.now() THEN
            PERFORM checkrein.refuse('CR006', 'the approval has expired; resume the attempt, so that the model is told', 'expired');
        END IF;
    END IF;
    CASE kind
    WHEN 'approval_requested' THEN
        PERFORM checkrein.step_approval(id, 'requested');
        UPDATE checkrein.approvals SET
            interrupt_id = coalesce(p ->> 'interrupt_id', interrupt_id),
            requested_at = coalesce(requested_at, checkrein.now()),
            expires_at = coalesce(expires_at, checkrein.now()
                + make_interval(secs => (body #>> '{terms,expires_in_s}')::integer))
        WHERE approval_id = id;
        RETURN checkrein.step_action(a, r.action_id, NULL, at_seq);
    WHEN 'approval_decided' THEN
        RETURN checkrein.decide_approval(a, r, p, at_seq);
    WHEN 'approval_escalated' THEN
        UPDATE checkrein.approvals SET escalated = escalated + 1
        WHERE approval_id = id AND escalated + 1 = (p ->> 'step')::integer
          AND body #>> ARRAY['escalation', escalated::text, 'role'] = p ->> 'role'
          AND requested_at + make_interval(secs =>
              (body #>> ARRAY['escalation', escalated::text, 'after_s'])::integer)
              <= checkrein.now();
        IF NOT FOUND THEN
            PERFORM checkrein.refuse('CR002', 'it is not the time for that step');
        END IF;
        PERFORM checkrein.step_approval(id, 'escalated');
        RETURN checkrein.step_action(a, r.action_id, NULL, at_seq);
    WHEN 'approval_expired' THEN
        IF r.expires_at > checkrein.now() THEN
            PERFORM checkrein.refuse('CR002', 'it has not expired');
        END IF;
        PERFORM checkrein.step_approval(id, 'expired');
        RETURN checkrein.step_action(a, r.action_id, 'rejected', at_seq);
    WHEN 'approval_granted' THEN
        PERFORM checkrein.next_status('approval', r.status, 'used');
        IF r.operation_hash <> p ->> 'operation_hash' THEN
            PERFORM checkrein.refuse('CR006', 'the approval is for another operation', 'hash');
        ELSIF r.resource_version <> p ->> 'resource_version' THEN
            PERFORM checkrein.refuse('CR006', 'the approval is for another state', 'stale');
        ELSIF checkrein.yes_count(r) < (r.body #>> '{terms,quorum}')::integer THEN
            PERFORM checkrein.refuse('CR006', 'too few of those who said yes still count', 'quorum');
        END IF;
        PERFORM checkrein.step_approval(id, 'used');
        RETURN checkrein.step_action(a, r.action_id, 'granted', at_seq);
    ELSE
        PERFORM checkrein.step_approval(id, 'stale');
        RETURN checkrein.step_action(a, r.action_id, 'stale', at_seq);
    END CASE;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA checkrein FROM PUBLIC;
