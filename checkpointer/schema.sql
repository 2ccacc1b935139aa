-- What all migrations together make. Written by scripts/schema_dump.py from a migrated database;
-- not to be edited, and not what makes one: that is migrations/.

SET check_function_bodies = off;


CREATE TABLE checkrein.acceptances (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    accepted_by text NOT NULL,
    body json NOT NULL,
    CONSTRAINT acceptances_pkey PRIMARY KEY (attempt_id, accepted_by)
);

CREATE TABLE checkrein.actions (
    tenant text NOT NULL,
    action_id text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    "position" integer NOT NULL,
    revision integer NOT NULL,
    type text NOT NULL,
    resource text NOT NULL,
    side_effect_class text NOT NULL,
    idempotency_key text NOT NULL,
    args_hash text NOT NULL,
    body json NOT NULL,
    status text NOT NULL,
    operation_hash text,
    permission_id text,
    last_event bigint NOT NULL,
    CONSTRAINT actions_pkey PRIMARY KEY (action_id),
    CONSTRAINT actions_attempt_id_turn_position_revision_key UNIQUE (attempt_id, turn, "position", revision)
);

CREATE TABLE checkrein.approvals (
    tenant text NOT NULL,
    approval_id text NOT NULL,
    attempt_id text NOT NULL,
    action_id text NOT NULL,
    request_revision integer NOT NULL,
    body json NOT NULL,
    operation_hash text NOT NULL,
    resource_version text NOT NULL,
    status text NOT NULL,
    interrupt_id text,
    requested_at timestamp with time zone,
    expires_at timestamp with time zone,
    escalated integer DEFAULT 0 NOT NULL,
    CONSTRAINT approvals_pkey PRIMARY KEY (approval_id),
    CONSTRAINT approvals_action_id_request_revision_key UNIQUE (action_id, request_revision)
);

CREATE INDEX approvals_open ON checkrein.approvals USING btree (attempt_id) WHERE (status = ANY (ARRAY['PREPARED'::text, 'PENDING'::text]));

CREATE TABLE checkrein.attempts (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    task_id text NOT NULL,
    number integer NOT NULL,
    body json NOT NULL,
    contract json NOT NULL,
    status text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    candidate json,
    verification json,
    idle_turns integer DEFAULT 0 NOT NULL,
    denied_turns integer DEFAULT 0 NOT NULL,
    denials integer DEFAULT 0 NOT NULL,
    progress jsonb,
    private_seen boolean DEFAULT false NOT NULL,
    untrusted_seen boolean DEFAULT false NOT NULL,
    plan_accepted text,
    result_accepted text,
    pause_requested boolean DEFAULT false NOT NULL,
    cancel_reason text,
    exhausted text,
    unfinished json DEFAULT '[]'::json NOT NULL,
    lease_owner text,
    lease_fence bigint DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    lease_seen timestamp with time zone,
    lease_backend integer,
    held interval DEFAULT '00:00:00'::interval NOT NULL,
    head_seq bigint DEFAULT 0 NOT NULL,
    head_hash bytea DEFAULT decode(repeat('00'::text, 32), 'hex'::text) NOT NULL,
    CONSTRAINT attempts_pkey PRIMARY KEY (attempt_id),
    CONSTRAINT attempts_number_check CHECK ((number > 0)),
    CONSTRAINT attempts_task_id_number_key UNIQUE (task_id, number)
);

CREATE TABLE checkrein.authority (
    tenant text NOT NULL,
    n bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    granted boolean NOT NULL,
    said_by text NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT authority_pkey PRIMARY KEY (n),
    CONSTRAINT authority_kind_check CHECK ((kind = ANY (ARRAY['user'::text, 'agent'::text, 'capability'::text, 'resource'::text, 'grant'::text, 'secret'::text]))),
    CONSTRAINT authority_value_check CHECK (((length(value) >= 1) AND (length(value) <= 1024)))
);

CREATE INDEX authority_newest ON checkrein.authority USING btree (tenant, kind, value, n DESC);

CREATE TABLE checkrein.blobs (
    tenant text NOT NULL,
    ref text NOT NULL,
    data bytea NOT NULL,
    CONSTRAINT blobs_pkey PRIMARY KEY (tenant, ref)
);

CREATE TABLE checkrein.budgets (
    tenant text NOT NULL,
    pool text NOT NULL,
    budget text NOT NULL,
    lim bigint NOT NULL,
    spent bigint DEFAULT 0 NOT NULL,
    reserved bigint DEFAULT 0 NOT NULL,
    warned boolean DEFAULT false NOT NULL,
    CONSTRAINT budgets_pkey PRIMARY KEY (pool, budget),
    CONSTRAINT budgets_lim_check CHECK ((lim >= 0)),
    CONSTRAINT budgets_reserved_check CHECK ((reserved >= 0)),
    CONSTRAINT budgets_spent_check CHECK ((spent >= 0))
);

CREATE TABLE checkrein.checkpoints (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    state_version bigint NOT NULL,
    event_offset bigint NOT NULL,
    workspace_ref text,
    pending_effect_ids text[] NOT NULL,
    context_projection_ref text,
    saved_at timestamp with time zone NOT NULL,
    CONSTRAINT checkpoints_pkey PRIMARY KEY (attempt_id)
);

CREATE TABLE checkrein.decisions (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    seq bigint NOT NULL,
    action_id text NOT NULL,
    phase text NOT NULL,
    body json NOT NULL,
    input_ref text NOT NULL,
    CONSTRAINT decisions_pkey PRIMARY KEY (attempt_id, seq)
);

CREATE INDEX decisions_of_action ON checkrein.decisions USING btree (action_id, seq);

CREATE TABLE checkrein.deliverers (
    tenant text NOT NULL,
    name text NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT deliverers_pkey PRIMARY KEY (tenant, name)
);

CREATE TABLE checkrein.deliveries (
    tenant text NOT NULL,
    n bigint NOT NULL,
    deliverer text NOT NULL,
    state text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    first_try_at timestamp with time zone,
    next_try_at timestamp with time zone NOT NULL,
    last_error text DEFAULT ''::text NOT NULL,
    delivered_at timestamp with time zone,
    CONSTRAINT deliveries_pkey PRIMARY KEY (deliverer, n),
    CONSTRAINT deliveries_last_error_check CHECK ((length(last_error) <= 300)),
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['WAITING'::text, 'SENDING'::text, 'DELIVERED'::text, 'GIVEN_UP'::text, 'SKIPPED'::text])))
);

CREATE INDEX deliveries_open ON checkrein.deliveries USING btree (deliverer, n) WHERE (state = ANY (ARRAY['WAITING'::text, 'SENDING'::text]));

CREATE TABLE checkrein.draws (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    pool text NOT NULL,
    inherited boolean NOT NULL,
    CONSTRAINT draws_pkey PRIMARY KEY (attempt_id, pool)
);

CREATE INDEX draws_of_pool ON checkrein.draws USING btree (pool);

CREATE TABLE checkrein.effects (
    tenant text NOT NULL,
    effect_id text NOT NULL,
    attempt_id text NOT NULL,
    action_id text NOT NULL,
    resource text NOT NULL,
    key text NOT NULL,
    operation_hash text NOT NULL,
    status text NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    from_version text DEFAULT ''::text NOT NULL,
    to_version text DEFAULT ''::text NOT NULL,
    outcome json,
    source text,
    pending boolean DEFAULT false NOT NULL,
    verified boolean,
    bound_seq bigint NOT NULL,
    bound_at timestamp with time zone NOT NULL,
    CONSTRAINT effects_pkey PRIMARY KEY (effect_id),
    CONSTRAINT effects_tenant_resource_key_key UNIQUE (tenant, resource, key)
);

CREATE INDEX effects_of_action ON checkrein.effects USING btree (action_id);

CREATE INDEX effects_of_attempt ON checkrein.effects USING btree (attempt_id);

CREATE TABLE checkrein.events (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    seq bigint NOT NULL,
    cause_seq bigint,
    type text NOT NULL,
    at text NOT NULL,
    payload text NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (attempt_id, seq),
    CONSTRAINT events_check CHECK ((cause_seq < seq)),
    CONSTRAINT events_seq_check CHECK ((seq > 0)),
    CONSTRAINT events_type_check CHECK ((type ~ '^[a-z_]+$'::text))
);

CREATE INDEX policy_changes ON checkrein.events USING btree (at) WHERE (type = ANY (ARRAY['policy_reloaded'::text, 'policy_refused'::text]));

CREATE TABLE checkrein.grants (
    tenant text NOT NULL,
    approval_id text NOT NULL,
    approver text NOT NULL,
    answer text NOT NULL,
    authority text NOT NULL,
    authenticated boolean NOT NULL,
    reason text NOT NULL,
    args json,
    reach json,
    decided_at timestamp with time zone NOT NULL,
    CONSTRAINT grants_pkey PRIMARY KEY (approval_id, approver)
);

CREATE TABLE checkrein.judgements (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    state_digest text NOT NULL,
    check_name text NOT NULL,
    role text NOT NULL,
    question text NOT NULL,
    verdict text,
    said_by text DEFAULT ''::text NOT NULL,
    authenticated boolean DEFAULT false NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    asked_at bigint NOT NULL,
    CONSTRAINT judgements_pkey PRIMARY KEY (attempt_id, state_digest, check_name),
    CONSTRAINT judgements_verdict_check CHECK ((verdict = ANY (ARRAY['pass'::text, 'fail'::text])))
);

CREATE TABLE checkrein.observations (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    "position" integer NOT NULL,
    action_id text NOT NULL,
    body json NOT NULL,
    CONSTRAINT observations_pkey PRIMARY KEY (attempt_id, turn, "position")
);

CREATE TABLE checkrein.outbox (
    tenant text NOT NULL,
    n bigint NOT NULL,
    key text NOT NULL,
    attempt_id text NOT NULL,
    approval_id text NOT NULL,
    kind text NOT NULL,
    seq bigint NOT NULL,
    body json NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT outbox_pkey PRIMARY KEY (n),
    CONSTRAINT outbox_key_key UNIQUE (key),
    CONSTRAINT outbox_kind_check CHECK ((kind = ANY (ARRAY['approval_requested'::text, 'approval_escalated'::text, 'approval_decided'::text, 'approval_expired'::text, 'approval_stale'::text, 'approval_revoked'::text])))
);

CREATE INDEX outbox_of_attempt ON checkrein.outbox USING btree (attempt_id, n);

CREATE TABLE checkrein.permissions (
    tenant text NOT NULL,
    permission_id text NOT NULL,
    task_id text NOT NULL,
    capability text NOT NULL,
    body json NOT NULL,
    uses_left integer NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT permissions_pkey PRIMARY KEY (permission_id),
    CONSTRAINT permissions_uses_left_check CHECK ((uses_left >= 0))
);

CREATE INDEX permissions_of_task ON checkrein.permissions USING btree (task_id) WHERE (uses_left > 0);

CREATE TABLE checkrein.pools (
    tenant text NOT NULL,
    pool text NOT NULL,
    kind text NOT NULL,
    currency text,
    CONSTRAINT pools_pkey PRIMARY KEY (pool),
    CONSTRAINT pools_kind_check CHECK ((kind = ANY (ARRAY['attempt'::text, 'task'::text])))
);

CREATE TABLE checkrein.tasks (
    tenant text NOT NULL,
    task_id text NOT NULL,
    contract_version text NOT NULL,
    contract json NOT NULL,
    input_refs json NOT NULL,
    risk text NOT NULL,
    budget json NOT NULL,
    requested_by text NOT NULL,
    commit_authority text,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    parent text,
    CONSTRAINT tasks_pkey PRIMARY KEY (task_id)
);

CREATE TABLE checkrein.tokens (
    tenant text NOT NULL,
    token_id text NOT NULL,
    hash bytea NOT NULL,
    person text NOT NULL,
    scopes text[] NOT NULL,
    issued_by text NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    revoked_by text,
    revoked_because text,
    last_used_at timestamp with time zone,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT tokens_check CHECK (((expires_at > issued_at) AND (expires_at <= (issued_at + '366 days'::interval)))),
    CONSTRAINT tokens_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT tokens_hash_key UNIQUE (hash),
    CONSTRAINT tokens_person_check CHECK (((length(person) >= 1) AND (length(person) <= 128))),
    CONSTRAINT tokens_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['read'::text, 'run'::text, 'approve'::text, 'reconcile'::text, 'authority'::text]))),
    CONSTRAINT tokens_tenant_check CHECK (((length(tenant) >= 1) AND (length(tenant) <= 128))),
    CONSTRAINT tokens_token_id_check CHECK ((token_id ~ '^tok_[0-9a-f]{20}$'::text))
);

CREATE TABLE checkrein.tool_tries (
    tenant text NOT NULL,
    action_id text NOT NULL,
    n integer NOT NULL,
    effect_id text,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    outcome text NOT NULL,
    CONSTRAINT tool_tries_pkey PRIMARY KEY (action_id, n)
);

CREATE TABLE checkrein.transitions (
    machine text NOT NULL,
    current text NOT NULL,
    event text NOT NULL,
    next text NOT NULL,
    CONSTRAINT transitions_pkey PRIMARY KEY (machine, current, event)
);

CREATE TABLE checkrein.turns (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    status text NOT NULL,
    sent text NOT NULL,
    manifest_ref text NOT NULL,
    lowest_trust text NOT NULL,
    model_tries integer DEFAULT 0 NOT NULL,
    model text,
    raw_ref text,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    model_id text,
    request_id text,
    usable integer DEFAULT 0 NOT NULL,
    refused integer DEFAULT 0 NOT NULL,
    open_calls integer DEFAULT 0 NOT NULL,
    waits_for text,
    waits_call text,
    text text,
    answer text,
    last_event bigint NOT NULL,
    CONSTRAINT turns_pkey PRIMARY KEY (attempt_id, turn),
    CONSTRAINT turns_status_check CHECK ((status = ANY (ARRAY['COMPILED'::text, 'REQUESTED'::text, 'RESPONDED'::text, 'CLOSED'::text]))),
    CONSTRAINT turns_turn_check CHECK ((turn > 0)),
    CONSTRAINT turns_waits_for_check CHECK ((waits_for = ANY (ARRAY['question'::text, 'stopped'::text])))
);

CREATE TABLE checkrein.usage (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    budget text NOT NULL,
    spent bigint NOT NULL,
    reserved bigint NOT NULL,
    CONSTRAINT usage_pkey PRIMARY KEY (attempt_id, budget),
    CONSTRAINT usage_reserved_check CHECK ((reserved >= 0)),
    CONSTRAINT usage_spent_check CHECK ((spent >= 0))
);

CREATE TABLE checkrein.verifications (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    body json NOT NULL,
    repair boolean NOT NULL,
    CONSTRAINT verifications_pkey PRIMARY KEY (attempt_id, turn)
);

ALTER TABLE checkrein.acceptances ADD CONSTRAINT acceptances_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.actions ADD CONSTRAINT actions_attempt_id_turn_fkey FOREIGN KEY (attempt_id, turn) REFERENCES checkrein.turns(attempt_id, turn);

ALTER TABLE checkrein.approvals ADD CONSTRAINT approvals_action_id_fkey FOREIGN KEY (action_id) REFERENCES checkrein.actions(action_id);

ALTER TABLE checkrein.approvals ADD CONSTRAINT approvals_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.attempts ADD CONSTRAINT attempts_task_id_fkey FOREIGN KEY (task_id) REFERENCES checkrein.tasks(task_id);

ALTER TABLE checkrein.budgets ADD CONSTRAINT budgets_pool_fkey FOREIGN KEY (pool) REFERENCES checkrein.pools(pool);

ALTER TABLE checkrein.checkpoints ADD CONSTRAINT checkpoints_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.decisions ADD CONSTRAINT decisions_action_id_fkey FOREIGN KEY (action_id) REFERENCES checkrein.actions(action_id);

ALTER TABLE checkrein.deliveries ADD CONSTRAINT deliveries_n_fkey FOREIGN KEY (n) REFERENCES checkrein.outbox(n);

ALTER TABLE checkrein.draws ADD CONSTRAINT draws_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.draws ADD CONSTRAINT draws_pool_fkey FOREIGN KEY (pool) REFERENCES checkrein.pools(pool);

ALTER TABLE checkrein.effects ADD CONSTRAINT effects_action_id_fkey FOREIGN KEY (action_id) REFERENCES checkrein.actions(action_id);

ALTER TABLE checkrein.effects ADD CONSTRAINT effects_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.events ADD CONSTRAINT events_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.grants ADD CONSTRAINT grants_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES checkrein.approvals(approval_id);

ALTER TABLE checkrein.judgements ADD CONSTRAINT judgements_attempt_id_turn_fkey FOREIGN KEY (attempt_id, turn) REFERENCES checkrein.turns(attempt_id, turn);

ALTER TABLE checkrein.observations ADD CONSTRAINT observations_attempt_id_turn_fkey FOREIGN KEY (attempt_id, turn) REFERENCES checkrein.turns(attempt_id, turn);

ALTER TABLE checkrein.outbox ADD CONSTRAINT outbox_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES checkrein.approvals(approval_id);

ALTER TABLE checkrein.outbox ADD CONSTRAINT outbox_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.permissions ADD CONSTRAINT permissions_permission_id_fkey FOREIGN KEY (permission_id) REFERENCES checkrein.approvals(approval_id);

ALTER TABLE checkrein.permissions ADD CONSTRAINT permissions_task_id_fkey FOREIGN KEY (task_id) REFERENCES checkrein.tasks(task_id);

ALTER TABLE checkrein.tool_tries ADD CONSTRAINT tool_tries_action_id_fkey FOREIGN KEY (action_id) REFERENCES checkrein.actions(action_id);

ALTER TABLE checkrein.tool_tries ADD CONSTRAINT tool_tries_effect_id_fkey FOREIGN KEY (effect_id) REFERENCES checkrein.effects(effect_id);

ALTER TABLE checkrein.turns ADD CONSTRAINT turns_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.usage ADD CONSTRAINT usage_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES checkrein.attempts(attempt_id);

ALTER TABLE checkrein.verifications ADD CONSTRAINT verifications_attempt_id_turn_fkey FOREIGN KEY (attempt_id, turn) REFERENCES checkrein.turns(attempt_id, turn);

CREATE OR REPLACE FUNCTION checkrein.accept_plan(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.accept_result(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.accept_state(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.actions_json(of_attempt text, of_turn integer)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION checkrein.answer_notice(a checkrein.attempts, p json, at_seq bigint)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.append(of_attempt text, under_fence bigint, kinds text[], payloads text[], data bytea[], look boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.approval_json(p checkrein.approvals)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
    SELECT p.body::jsonb || jsonb_build_object('expires_at', p.expires_at,
        'escalated', p.escalated, 'status',
        CASE WHEN p.status IN ('PENDING', 'GRANTED') AND p.expires_at <= checkrein.now()
             THEN 'EXPIRED' ELSE p.status END)
$function$;

CREATE OR REPLACE FUNCTION checkrein.beat(of_attempt text, under_fence bigint, ttl interval)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    t timestamptz := checkrein.now();
BEGIN
    UPDATE attempts SET lease_until = t + ttl, held = held + (t - lease_seen), lease_seen = t
    WHERE attempt_id = of_attempt AND lease_fence = under_fence AND lease_owner IS NOT NULL;
    RETURN FOUND;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.become_child(a checkrein.attempts, of_parent text, currency text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    x checkrein.attempts;
    other text;
BEGIN
    SELECT * INTO x FROM checkrein.attempts WHERE attempt_id = of_parent AND tenant = a.tenant
    FOR SHARE;
    IF NOT FOUND OR of_parent = a.attempt_id THEN
        PERFORM checkrein.refuse('CR004', format('there is no attempt %s to be a child of', of_parent));
    ELSIF a.body ->> 'purpose' = 'commit' THEN
        NULL;
    ELSIF checkrein.has_ended(x.status) THEN
        PERFORM checkrein.refuse('CR008', format('the parent has ended: %s', x.status), x.status);
    ELSIF x.cancel_reason IS NOT NULL THEN
        PERFORM checkrein.refuse('CR003', 'the parent is being cancelled');
    END IF;
    SELECT p.currency INTO other FROM checkrein.draws d JOIN checkrein.pools p ON p.pool = d.pool
    WHERE d.attempt_id = of_parent AND p.currency IS DISTINCT FROM become_child.currency
      AND p.currency IS NOT NULL LIMIT 1;
    IF FOUND THEN
        PERFORM checkrein.refuse('CR002', format('its parent''s money is limited in %s: a child '
            'declares money of the same currency, so that it is counted', other), 'money');
    END IF;
    INSERT INTO checkrein.draws
    SELECT a.tenant, a.attempt_id, pool, true FROM checkrein.draws WHERE attempt_id = of_parent
    ON CONFLICT DO NOTHING;
    PERFORM checkrein.lock_pools(a);
    PERFORM checkrein.book(a, 'children', 1, 0);
END $function$;

CREATE OR REPLACE FUNCTION checkrein.begin_drawing(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    PERFORM checkrein.open_pool(a.tenant, a.attempt_id, 'attempt', p -> 'budgets');
    INSERT INTO checkrein.draws SELECT a.tenant, a.attempt_id, pool, false
    FROM checkrein.pools
    WHERE (pool, kind) IN ((a.attempt_id, 'attempt'), (a.task_id, 'task'));
    IF a.body ->> 'parent' IS NOT NULL THEN
        PERFORM checkrein.become_child(a, a.body ->> 'parent', coalesce(
            a.contract #>> '{budgets,money,currency}',
            a.contract #>> '{shared_budgets,money,currency}'));
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.begin_try(a checkrein.attempts, of_action text, of_effect text)
 RETURNS void
 LANGUAGE sql
AS $function$
    INSERT INTO checkrein.tool_tries (tenant, action_id, n, effect_id, started_at, outcome)
    SELECT a.tenant, of_action, count(*) + 1, of_effect, checkrein.now(), 'sent'
    FROM checkrein.tool_tries WHERE action_id = of_action
$function$;

CREATE OR REPLACE FUNCTION checkrein.bind_intent(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.book(a checkrein.attempts, name text, r bigint, s bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    short record;
BEGIN
    UPDATE checkrein.usage SET reserved = reserved + r, spent = spent + s
    WHERE attempt_id = a.attempt_id AND budget = name;
    IF NOT FOUND THEN
        INSERT INTO checkrein.usage VALUES (a.tenant, a.attempt_id, name, s, r);
    END IF;
    UPDATE checkrein.budgets b SET reserved = b.reserved + r, spent = b.spent + s
    FROM checkrein.draws d
    WHERE d.attempt_id = a.attempt_id AND b.pool = d.pool AND b.budget = name
      AND (name <> 'children' OR d.inherited);
    IF r <= 0 THEN
        RETURN;
    END IF;
    SELECT b.pool, k.kind, greatest(0, b.lim - b.spent - b.reserved + r) AS room INTO short
    FROM checkrein.draws d JOIN checkrein.budgets b ON b.pool = d.pool
    JOIN checkrein.pools k ON k.pool = d.pool
    WHERE d.attempt_id = a.attempt_id AND b.budget = name AND b.spent + b.reserved > b.lim
      AND (name <> 'children' OR d.inherited)
    ORDER BY b.lim - b.spent - b.reserved LIMIT 1;
    IF FOUND THEN
        PERFORM checkrein.refuse('CR005', format('%s more %s do not fit: %s are left of the budget '
            'of %s %s', r, name, short.room, short.kind, short.pool), name);
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.books_of(of_attempt text)
 RETURNS TABLE(pool text, kind text, budget text, lim bigint, spent bigint, reserved bigint, warned boolean, drawn bigint, held bigint)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
    SELECT b.pool, k.kind, b.budget, b.lim, s.spent, b.reserved, b.warned,
        CASE b.budget WHEN 'wall_time_s' THEN s.spent ELSE coalesce(x.drawn, 0)::bigint END,
        coalesce(x.held, 0)::bigint
    FROM draws d
    JOIN pools k ON k.pool = d.pool
    JOIN budgets b ON b.pool = d.pool
    CROSS JOIN LATERAL (SELECT CASE b.budget WHEN 'wall_time_s' THEN pool_seconds(b.pool)
                                             ELSE b.spent END AS spent) AS s
    CROSS JOIN LATERAL (SELECT sum(u.spent) AS drawn, sum(u.reserved) AS held
        FROM draws e JOIN usage u ON u.attempt_id = e.attempt_id
        WHERE e.pool = b.pool AND u.budget = b.budget
          AND (b.budget <> 'children' OR e.inherited)) AS x
    WHERE d.attempt_id = of_attempt
    ORDER BY b.pool <> of_attempt, b.pool, b.budget
$function$;

CREATE OR REPLACE FUNCTION checkrein.budget_parts(of_attempt text, OUT budgets json, OUT near json)
 RETURNS record
 LANGUAGE sql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION checkrein.check_attempt(x json, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_commit(x json, of_contract json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_known(of_tenant text, of_contract json, who text, proven boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_may_accept(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_may_judge(a checkrein.attempts, role text, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_may_raise(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    rules json := a.contract -> 'approvals';
    who text := p ->> 'by';
    proven boolean := (p ->> 'authenticated')::boolean;
    named text := coalesce(rules ->> 'budget_role', a.contract ->> 'commit_authority');
    ranks text[] := ARRAY['low', 'medium', 'high'];
BEGIN
    IF named IS NULL AND NOT proven THEN
        PERFORM checkrein.refuse('CR006', 'the contract names nobody who may raise a budget', 'identity');
    ELSIF named IS NOT NULL AND NOT coalesce((rules #> ARRAY['roles', named])::jsonb ? who, false)
          AND (rules ->> 'budget_role' IS NOT NULL OR who <> named) THEN
        PERFORM checkrein.refuse('CR006', format('%s may not raise a budget', who), 'role');
    ELSIF NOT proven AND array_position(ranks, a.contract ->> 'risk')
          > array_position(ranks, rules ->> 'asserted_up_to') THEN
        PERFORM checkrein.refuse('CR006', format('the name %s is only asserted', who), 'identity');
    ELSIF (rules ->> 'separation_of_duty')::boolean AND who = a.contract ->> 'requested_by' THEN
        PERFORM checkrein.refuse('CR006', format('%s asked for this task', who), 'requester');
    ELSIF NOT coalesce((SELECT granted FROM checkrein.authority WHERE tenant = a.tenant
                        AND kind = 'user' AND value = who ORDER BY n DESC LIMIT 1), true) THEN
        PERFORM checkrein.refuse('CR010', format('user:%s is revoked', who), 'user:' || who);
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_not_revoked(a checkrein.attempts, of_action text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.check_task(k json, of_contract json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.claim_deliveries(of_deliverer text, of_tenant text, most integer, hold interval)
 RETURNS SETOF json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    t timestamptz := checkrein.now();
BEGIN
    INSERT INTO deliverers VALUES (of_tenant, of_deliverer, t) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        -- A new deliverer is not told what was over before it was set up.
        INSERT INTO deliveries (tenant, n, deliverer, state, next_try_at)
        SELECT o.tenant, o.n, of_deliverer, 'SKIPPED', o.at
        FROM outbox o JOIN approvals r USING (approval_id)
        WHERE (of_tenant = '*' OR o.tenant = of_tenant) AND r.status <> 'PENDING'
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO deliveries (tenant, n, deliverer, state, next_try_at)
    SELECT o.tenant, o.n, of_deliverer, 'WAITING', o.at FROM outbox o
    WHERE (of_tenant = '*' OR o.tenant = of_tenant) AND NOT EXISTS (
        SELECT FROM deliveries d WHERE d.deliverer = of_deliverer AND d.n = o.n)
    ORDER BY o.n ON CONFLICT DO NOTHING;
    RETURN QUERY
    WITH due AS (
        SELECT d.n FROM deliveries d JOIN outbox o USING (n)
        WHERE d.deliverer = of_deliverer AND d.state IN ('WAITING', 'SENDING')
          AND d.next_try_at <= t AND (of_tenant = '*' OR o.tenant = of_tenant)
          AND NOT EXISTS (
              SELECT FROM outbox x JOIN deliveries e ON e.n = x.n AND e.deliverer = of_deliverer
              WHERE x.attempt_id = o.attempt_id AND x.n < o.n
                AND e.state IN ('WAITING', 'SENDING'))
        ORDER BY d.n LIMIT most FOR UPDATE OF d SKIP LOCKED
    ), claimed AS (
        UPDATE deliveries d SET state = 'SENDING', tries = d.tries + 1, next_try_at = t + hold,
            first_try_at = coalesce(d.first_try_at, t)
        FROM due WHERE d.deliverer = of_deliverer AND d.n = due.n RETURNING d.n, d.tries
    )
    SELECT json_build_object('n', c.n, 'tries', c.tries, 'key', o.key, 'kind', o.kind,
        'tenant', o.tenant, 'task_id', a.task_id, 'attempt_id', o.attempt_id,
        'approval_id', o.approval_id, 'seq', o.seq, 'at', o.at, 'answered', o.body -> 'answered',
        'request', r.body::jsonb || jsonb_build_object('status', o.body -> 'status',
            'expires_at', o.body -> 'expires_at', 'escalated', o.body -> 'escalated'),
        'people', coalesce(a.contract #> '{approvals,roles}', '{}'),
        'task_requested_by', a.contract -> 'requested_by')
    FROM claimed c JOIN outbox o USING (n) JOIN approvals r USING (approval_id)
    JOIN attempts a ON a.attempt_id = o.attempt_id ORDER BY c.n;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.close_turn(a checkrein.attempts, n integer, at_seq bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.commit_budgets()
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT '{"steps": 4, "model_tokens": 1000000, "wall_time_s": 3600, "tool_calls": 20,
        "repairs": 0}'::jsonb
$function$;

CREATE OR REPLACE FUNCTION checkrein.decide_approval(a checkrein.attempts, r checkrein.approvals, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.effect_json(e checkrein.effects)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
    SELECT json_build_object('effect_id', e.effect_id, 'tenant', e.tenant, 'resource', e.resource,
        'key', e.key, 'operation_hash', e.operation_hash, 'attempt_id', e.attempt_id,
        'action_id', e.action_id,
        'status', e.status, 'fence', e.fence, 'from_version', e.from_version,
        'to_version', e.to_version, 'outcome', e.outcome, 'source', e.source,
        'pending', e.pending, 'verified', e.verified)
$function$;

CREATE OR REPLACE FUNCTION checkrein.end_attempt(a checkrein.attempts, p json, at_seq bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.end_try(of_effect text, how text)
 RETURNS void
 LANGUAGE sql
AS $function$
    UPDATE checkrein.tool_tries SET ended_at = checkrein.now(), outcome = how
    WHERE effect_id = of_effect AND ended_at IS NULL
$function$;

CREATE OR REPLACE FUNCTION checkrein.given_limits(limits json)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT jsonb_strip_nulls(limits::jsonb)
$function$;

CREATE OR REPLACE FUNCTION checkrein.grant_json(g checkrein.grants)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
    SELECT json_build_object('approval_id', g.approval_id, 'approver', g.approver,
        'answer', g.answer, 'authority', g.authority, 'authenticated', g.authenticated,
        'reason', g.reason, 'args', g.args, 'reach', g.reach, 'decided_at', g.decided_at)
$function$;

CREATE OR REPLACE FUNCTION checkrein.has_ended(status text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT status IN ('CANDIDATE_VERIFIED', 'FAILED_VERIFICATION', 'POLICY_BLOCKED',
        'ENVIRONMENT_ERROR', 'MODEL_ERROR', 'FAILED', 'CANCELLED')
$function$;

CREATE OR REPLACE FUNCTION checkrein.has_role(of_contract json, role text, who text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT coalesce((of_contract #> ARRAY['approvals', 'roles', role])::jsonb ? who, false)
$function$;

CREATE OR REPLACE FUNCTION checkrein.held_time(a checkrein.attempts)
 RETURNS interval
 LANGUAGE sql
AS $function$
    SELECT a.held + CASE WHEN a.lease_owner IS NULL THEN '0'
        ELSE least(checkrein.now(), a.lease_until) - a.lease_seen END
$function$;

CREATE OR REPLACE FUNCTION checkrein.is_authority(of_contract json, who text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT coalesce(who = of_contract ->> 'commit_authority'
        OR checkrein.has_role(of_contract, of_contract ->> 'commit_authority', who), false)
$function$;

CREATE OR REPLACE FUNCTION checkrein.issue_token(id text, of_tenant text, of_person text, its_hash bytea, its_scopes text[], days integer, who text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    t timestamptz := checkrein.now();
BEGIN
    INSERT INTO tokens (tenant, token_id, hash, person, scopes, issued_by, issued_at, expires_at)
    VALUES (of_tenant, id, its_hash, of_person, its_scopes, who, t,
        t + make_interval(days => days));
END $function$;

CREATE OR REPLACE FUNCTION checkrein.limits_of(budgets json)
 RETURNS TABLE(budget text, lim bigint)
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT key, CASE json_typeof(value) WHEN 'object' THEN value ->> 'limit'
                                        ELSE value #>> '{}' END::bigint
    FROM json_each(budgets) WHERE json_typeof(value) <> 'null'
$function$;

CREATE OR REPLACE FUNCTION checkrein.live_authority(of_tenant text, of_verdict boolean)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
    SELECT coalesce(json_agg(kind || ':' || value ORDER BY kind, value), '[]')
    FROM (SELECT DISTINCT ON (kind, value) kind, value, granted FROM checkrein.authority
          WHERE tenant = of_tenant ORDER BY kind, value, n DESC) AS newest
    WHERE granted = of_verdict
$function$;

CREATE OR REPLACE FUNCTION checkrein.lock_key(of_attempt text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT hashtextextended('checkrein:' || of_attempt, 0) $function$;

CREATE OR REPLACE FUNCTION checkrein.lock_pools(a checkrein.attempts)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    PERFORM FROM checkrein.pools p JOIN checkrein.draws d ON d.pool = p.pool
    WHERE d.attempt_id = a.attempt_id ORDER BY p.pool FOR NO KEY UPDATE OF p;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.mark_executing(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.next_status(of_machine text, from_status text, by_event text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$SELECT clock_timestamp()$function$;

CREATE OR REPLACE FUNCTION checkrein.on_action(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_approval(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_attempt(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_budget(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    amounts jsonb := coalesce(p -> 'amounts', '{}');
    released jsonb := coalesce(p -> 'released', '{}');
    used jsonb := coalesce(p -> 'spent', '{}');
    name text;
BEGIN
    PERFORM checkrein.lock_pools(a);
    FOR name IN SELECT jsonb_object_keys(amounts || released || used) AS key ORDER BY key LOOP
        IF name IN ('approvals_outstanding', 'children') THEN
            PERFORM checkrein.refuse('CR002',
                format('%s follow from what is open; nobody books them', name));
        END IF;
        PERFORM checkrein.book(a, name, coalesce((amounts ->> name)::bigint, 0)
            - coalesce((released ->> name)::bigint, 0), coalesce((used ->> name)::bigint, 0));
    END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_decision(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
    id text := p ->> 'action_id';
    d json := p -> 'decision';
BEGIN
    INSERT INTO checkrein.decisions (tenant, attempt_id, seq, action_id, phase, body, input_ref)
    VALUES (a.tenant, a.attempt_id, at_seq, id, p ->> 'phase', d, d ->> 'input_ref');
    RETURN checkrein.step_action(a, id, CASE d ->> 'decision'
        WHEN 'ALLOW' THEN 'allowed' WHEN 'CONSTRAINED_ALLOW' THEN 'allowed'
        WHEN 'REQUIRE_APPROVAL' THEN 'asked' ELSE 'denied' END, at_seq, p ->> 'operation_hash');
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_effect(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_gate(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_judgement(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_model(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_notice(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE sql
AS $function$
    UPDATE checkrein.attempts SET progress = p::jsonb - 'v' - 'type' || jsonb_build_object(
        'answered', false,
        'switched', p ->> 'rung' = 'switch' OR coalesce((progress ->> 'switched')::boolean, false))
    WHERE attempt_id = a.attempt_id
$function$;

CREATE OR REPLACE FUNCTION checkrein.on_observation(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_opinion(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM checkrein.attempts x WHERE x.attempt_id = a.attempt_id
                   AND x.status IN ('VERIFYING', 'CANCELLING')
                   AND x.candidate ->> 'state_digest' = p ->> 'state_digest') THEN
        PERFORM checkrein.refuse('CR002', 'a judge speaks of the sealed state alone');
    END IF;
    RETURN checkrein.step_turn(a.attempt_id, (p ->> 'turn')::integer, at_seq);
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_secret(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.on_talk(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.open_pool(of_tenant text, id text, of_kind text, limits json)
 RETURNS void
 LANGUAGE sql
AS $function$
    INSERT INTO checkrein.pools VALUES (of_tenant, id, of_kind, limits #>> '{money,currency}');
    INSERT INTO checkrein.budgets (tenant, pool, budget, lim)
    SELECT of_tenant, id, l.budget, l.lim FROM checkrein.limits_of(limits) AS l;
$function$;

CREATE OR REPLACE FUNCTION checkrein.owns(of_attempt text, under_fence bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
    SELECT EXISTS (SELECT FROM attempts WHERE attempt_id = of_attempt AND lease_fence = under_fence
                   AND lease_owner IS NOT NULL AND lease_until > checkrein.now())
$function$;

CREATE OR REPLACE FUNCTION checkrein.permit(a checkrein.attempts, r checkrein.approvals, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.pool_seconds(of_pool text)
 RETURNS bigint
 LANGUAGE sql
AS $function$
    SELECT ceil(extract(epoch FROM sum(checkrein.held_time(a))))::bigint
    FROM checkrein.draws d JOIN checkrein.attempts a ON a.attempt_id = d.attempt_id
    WHERE d.pool = of_pool
$function$;

CREATE OR REPLACE FUNCTION checkrein.position_of(of_attempt text)
 RETURNS json
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION checkrein.project(a checkrein.attempts, kind text, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.put_out(a checkrein.attempts, of_type text, payload text, at_seq bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    of_kind text := CASE of_type WHEN 'attempt_ended' THEN 'approval_revoked' ELSE of_type END;
    p json;
BEGIN
    IF of_type NOT IN ('approval_requested', 'approval_escalated', 'approval_decided',
                       'approval_expired', 'approval_stale', 'attempt_ended') THEN
        RETURN;
    ELSIF of_type <> 'attempt_ended' THEN
        p := payload;
    END IF;
    INSERT INTO checkrein.outbox (tenant, key, attempt_id, approval_id, kind, seq, body, at)
    SELECT r.tenant, concat_ws('-', r.approval_id, of_kind, at_seq), r.attempt_id, r.approval_id,
        of_kind, at_seq, json_build_object('status', r.status, 'expires_at', r.expires_at,
            'escalated', r.escalated,
            'answered', CASE of_type WHEN 'approval_decided' THEN json_build_object(
                'answer', p -> 'answer', 'by', p -> 'approver',
                'authenticated', p -> 'authenticated', 'reason', left(p ->> 'reason', 2000)) END),
        checkrein.now()
    FROM checkrein.approvals r
    WHERE r.attempt_id = a.attempt_id AND r.requested_at IS NOT NULL
      AND CASE of_type WHEN 'attempt_ended' THEN r.status = 'REVOKED'
               ELSE r.approval_id = p ->> 'approval_id' END
      -- These two are told once; a request that is published again is the same request.
      AND (of_kind NOT IN ('approval_requested', 'approval_revoked') OR NOT EXISTS (
          SELECT FROM checkrein.outbox o WHERE o.attempt_id = a.attempt_id
            AND o.approval_id = r.approval_id AND o.kind = of_kind))
    ORDER BY r.requested_at, r.approval_id;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.raise_budget(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    next_limit bigint := (p ->> 'to_limit')::bigint;
BEGIN
    PERFORM checkrein.check_may_raise(a, p);
    PERFORM checkrein.lock_pools(a);
    UPDATE checkrein.budgets SET lim = next_limit, warned = false
    WHERE pool = p ->> 'pool' AND pool IN (a.attempt_id, a.task_id) AND budget = p ->> 'budget'
      AND lim = (p ->> 'from_limit')::bigint AND next_limit > lim AND next_limit <= 10 ^ 12;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'a budget of this attempt or its task is raised, from the '
            'limit that it has now to a larger one');
    END IF;
    UPDATE checkrein.attempts SET exhausted = NULL, unfinished = '[]'
    WHERE attempt_id = a.attempt_id AND exhausted = p ->> 'budget' AND status = 'BUDGET_EXHAUSTED';
END $function$;

CREATE OR REPLACE FUNCTION checkrein.reckon_approvals(a checkrein.attempts)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    more bigint;
BEGIN
    SELECT count(*) - coalesce((SELECT reserved FROM checkrein.usage
        WHERE attempt_id = a.attempt_id AND budget = 'approvals_outstanding'), 0) INTO more
    FROM checkrein.approvals WHERE attempt_id = a.attempt_id AND status IN ('PREPARED', 'PENDING');
    IF more <> 0 THEN
        PERFORM checkrein.lock_pools(a);
        PERFORM checkrein.book(a, 'approvals_outstanding', more, 0);
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.record_delivery(of_n bigint, of_deliverer text, of_try integer, outcome text, note text, again interval, give_up interval)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    t timestamptz := checkrein.now();
    after text;
BEGIN
    UPDATE deliveries d SET
        state = CASE WHEN outcome = 'delivered' THEN 'DELIVERED'
                     WHEN outcome = 'refused' OR t + again > d.first_try_at + give_up
                     THEN 'GIVEN_UP' ELSE 'WAITING' END,
        next_try_at = t + again, last_error = left(note, 300),
        delivered_at = CASE outcome WHEN 'delivered' THEN t END
    WHERE d.n = of_n AND d.deliverer = of_deliverer AND d.state IN ('WAITING', 'SENDING')
      AND d.tries >= of_try
      AND (outcome = 'delivered' OR (d.state = 'SENDING' AND d.tries = of_try))
    RETURNING d.state INTO after;
    RETURN after;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.refuse(code text, message text, detail text DEFAULT ''::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.release(of_attempt text, under_fence bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
    UPDATE attempts SET lease_owner = NULL, lease_until = NULL, lease_backend = NULL,
        held = held + (checkrein.now() - lease_seen)
    WHERE attempt_id = of_attempt AND lease_fence = under_fence AND lease_owner IS NOT NULL;
    PERFORM pg_advisory_unlock(lock_key(of_attempt));
END $function$;

CREATE OR REPLACE FUNCTION checkrein.retry_effect(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.revoke_token(id text, who text, why text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
    UPDATE tokens SET revoked_at = coalesce(revoked_at, checkrein.now()),
        revoked_by = coalesce(revoked_by, who), revoked_because = coalesce(revoked_because, why)
    WHERE token_id = id;
    IF NOT FOUND THEN
        PERFORM refuse('CR004', format('there is no token %s; `checkrein token list` lists them',
                                       id));
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.save_checkpoint(a checkrein.attempts, at_seq bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION checkrein.say(of_tenant text, of_kind text, of_value text, is_granted boolean, who text, why text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
    INSERT INTO authority (tenant, kind, value, granted, said_by, reason, at)
    VALUES (of_tenant, of_kind, of_value, is_granted, who, why, checkrein.now())
$function$;

CREATE OR REPLACE FUNCTION checkrein.settle_rest(a checkrein.attempts)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
    u checkrein.usage;
BEGIN
    PERFORM checkrein.lock_pools(a);
    FOR u IN SELECT * FROM checkrein.usage WHERE attempt_id = a.attempt_id AND reserved > 0
             ORDER BY budget LOOP
        PERFORM checkrein.book(a, u.budget, -u.reserved, CASE WHEN u.budget IN
            ('approvals_outstanding', 'children') THEN 0 ELSE u.reserved END);
    END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.start(kinds text[], payloads text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.step_action(a checkrein.attempts, id text, by_event text, at_seq bigint, bound_hash text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.step_approval(id text, by_event text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE checkrein.approvals SET status = checkrein.next_status('approval', status, by_event)
    WHERE approval_id = id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('there is no approval %s', id));
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.step_attempt(id text, by_event text)
 RETURNS void
 LANGUAGE sql
AS $function$
    UPDATE checkrein.attempts SET status = checkrein.next_status('attempt', status, by_event)
    WHERE attempt_id = id
$function$;

CREATE OR REPLACE FUNCTION checkrein.step_effect(a checkrein.attempts, p json, by_event text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE checkrein.effects SET status = checkrein.next_status('effect', status, by_event)
    WHERE effect_id = p ->> 'effect_id' AND action_id = p ->> 'action_id'
      AND attempt_id = a.attempt_id;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('action %s of this attempt has no effect %s',
            p ->> 'action_id', p ->> 'effect_id'));
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.step_task(id text, by_event text)
 RETURNS void
 LANGUAGE sql
AS $function$
    UPDATE checkrein.tasks SET status = checkrein.next_status('task', status, by_event)
    WHERE task_id = id
$function$;

CREATE OR REPLACE FUNCTION checkrein.step_turn(id text, n integer, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
    cause bigint;
BEGIN
    SELECT last_event INTO cause FROM checkrein.turns WHERE attempt_id = id AND turn = n;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR004', format('attempt %s has no turn %s', id, n));
    END IF;
    UPDATE checkrein.turns SET last_event = at_seq WHERE attempt_id = id AND turn = n;
    RETURN cause;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.store_event(a checkrein.attempts, kind text, payload text, at_seq bigint, cause bigint)
 RETURNS bytea
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.take_lease(of_attempt text, new_owner text, ttl interval)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    a attempts;
    t timestamptz;
    fence bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM attempts WHERE attempt_id = of_attempt) THEN
        PERFORM refuse('CR004', format('there is no attempt %s', of_attempt));
    END IF;
    IF NOT pg_try_advisory_lock(lock_key(of_attempt)) THEN
        RETURN NULL;
    END IF;
    SELECT * INTO a FROM attempts WHERE attempt_id = of_attempt FOR UPDATE;
    t := checkrein.now();
    -- A dead owner is charged for the time until its lease would have ended, at the most.
    UPDATE attempts SET lease_owner = new_owner, lease_fence = a.lease_fence + 1,
        lease_until = t + ttl, lease_seen = t, lease_backend = pg_backend_pid(),
        held = a.held + CASE WHEN a.lease_owner IS NULL THEN '0'
                             ELSE least(t, a.lease_until) - a.lease_seen END
    WHERE attempt_id = of_attempt RETURNING lease_fence INTO fence;
    RETURN fence;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.use_permission(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION checkrein.use_token(its_hash bytea, wanted text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkrein', 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    t tokens;
    moment timestamptz := checkrein.now();
BEGIN
    SELECT * INTO t FROM tokens WHERE hash = its_hash;
    IF NOT FOUND THEN
        RETURN 'unknown';
    ELSIF t.revoked_at IS NOT NULL THEN
        RETURN 'revoked';
    ELSIF t.expires_at <= moment THEN
        RETURN 'expired';
    ELSIF wanted IS NOT NULL AND wanted <> ALL (t.scopes) THEN
        RETURN 'scope';
    END IF;
    UPDATE tokens SET last_used_at = moment WHERE hash = its_hash
        AND (last_used_at IS NULL OR last_used_at < moment - interval '1 minute');
    RETURN 'ok';
END $function$;

CREATE OR REPLACE FUNCTION checkrein.verify_effect(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE checkrein.effects SET verified = (p ->> 'holds')::boolean
    WHERE effect_id = p ->> 'effect_id' AND action_id = p ->> 'action_id'
      AND attempt_id = a.attempt_id AND status = 'COMMITTED' AND verified IS NULL;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'only a receipt that was not read back can be');
    END IF;
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $function$;

CREATE OR REPLACE FUNCTION checkrein.wait_for_effect(a checkrein.attempts, p json, at_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF NOT (p ->> 'sent')::boolean THEN
        RETURN checkrein.step_action(a, p ->> 'action_id', 'pending', at_seq);
    END IF;
    PERFORM checkrein.step_effect(a, p, 'pending');
    UPDATE checkrein.effects SET pending = true WHERE effect_id = p ->> 'effect_id';
    RETURN checkrein.step_action(a, p ->> 'action_id', NULL, at_seq);
END $function$;

CREATE OR REPLACE FUNCTION checkrein.warn_of_budget(a checkrein.attempts, p json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    PERFORM checkrein.lock_pools(a);
    UPDATE checkrein.budgets b SET warned = true FROM checkrein.draws d
    WHERE d.attempt_id = a.attempt_id AND b.pool = d.pool AND b.pool = p ->> 'pool'
      AND b.budget = p ->> 'budget' AND NOT b.warned;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'that warning was given already');
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION checkrein.yes_count(r checkrein.approvals)
 RETURNS bigint
 LANGUAGE sql
AS $function$
    SELECT count(*) FROM checkrein.grants g
    WHERE g.approval_id = r.approval_id AND g.answer = 'approve'
      AND coalesce((SELECT w.granted FROM checkrein.authority w WHERE w.tenant = r.tenant
                    AND w.kind = 'user' AND w.value = g.approver ORDER BY n DESC LIMIT 1), true)
$function$;

GRANT SELECT ON checkrein.acceptances TO checkrein_app;
GRANT SELECT ON checkrein.actions TO checkrein_app;
GRANT SELECT ON checkrein.approvals TO checkrein_app;
GRANT SELECT ON checkrein.attempts TO checkrein_app;
GRANT SELECT ON checkrein.authority TO checkrein_app;
GRANT SELECT ON checkrein.blobs TO checkrein_app;
GRANT SELECT ON checkrein.budgets TO checkrein_app;
GRANT SELECT ON checkrein.checkpoints TO checkrein_app;
GRANT SELECT ON checkrein.decisions TO checkrein_app;
GRANT SELECT ON checkrein.deliverers TO checkrein_app;
GRANT SELECT ON checkrein.deliveries TO checkrein_app;
GRANT SELECT ON checkrein.draws TO checkrein_app;
GRANT SELECT ON checkrein.effects TO checkrein_app;
GRANT SELECT ON checkrein.events TO checkrein_app;
GRANT SELECT ON checkrein.grants TO checkrein_app;
GRANT SELECT ON checkrein.judgements TO checkrein_app;
GRANT SELECT ON checkrein.observations TO checkrein_app;
GRANT SELECT ON checkrein.outbox TO checkrein_app;
GRANT SELECT ON checkrein.permissions TO checkrein_app;
GRANT SELECT ON checkrein.pools TO checkrein_app;
GRANT SELECT ON checkrein.tasks TO checkrein_app;
GRANT SELECT ON checkrein.tokens TO checkrein_app;
GRANT SELECT ON checkrein.tool_tries TO checkrein_app;
GRANT SELECT ON checkrein.transitions TO checkrein_app;
GRANT SELECT ON checkrein.turns TO checkrein_app;
GRANT SELECT ON checkrein.usage TO checkrein_app;
GRANT SELECT ON checkrein.verifications TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.accept_plan(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.accept_result(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.accept_state(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.actions_json(text,integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.answer_notice(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.append(text,bigint,text[],text[],bytea[],boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.append(text,bigint,text[],text[],bytea[],boolean) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.approval_json(checkrein.approvals) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.approval_json(checkrein.approvals) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.beat(text,bigint,interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.beat(text,bigint,interval) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.become_child(checkrein.attempts,text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.begin_drawing(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.begin_try(checkrein.attempts,text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.bind_intent(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.book(checkrein.attempts,text,bigint,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.books_of(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.books_of(text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.budget_parts(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_attempt(json,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_commit(json,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_known(text,json,text,boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_may_accept(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_may_judge(checkrein.attempts,text,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_may_raise(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_not_revoked(checkrein.attempts,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.check_task(json,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.claim_deliveries(text,text,integer,interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.claim_deliveries(text,text,integer,interval) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.close_turn(checkrein.attempts,integer,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.commit_budgets() FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.decide_approval(checkrein.attempts,checkrein.approvals,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.effect_json(checkrein.effects) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.effect_json(checkrein.effects) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.end_attempt(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.end_try(text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.given_limits(json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.grant_json(checkrein.grants) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.grant_json(checkrein.grants) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.has_ended(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.has_role(json,text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.held_time(checkrein.attempts) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.is_authority(json,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.issue_token(text,text,text,bytea,text[],integer,text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.issue_token(text,text,text,bytea,text[],integer,text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.limits_of(json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.live_authority(text,boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.lock_key(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.lock_pools(checkrein.attempts) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.mark_executing(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.next_status(text,text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.now() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.now() TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.on_action(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_approval(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_attempt(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_budget(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_decision(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_effect(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_gate(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_judgement(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_model(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_notice(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_observation(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_opinion(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_secret(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.on_talk(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.open_pool(text,text,text,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.owns(text,bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.owns(text,bigint) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.permit(checkrein.attempts,checkrein.approvals,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.pool_seconds(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.position_of(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.position_of(text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.project(checkrein.attempts,text,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.put_out(checkrein.attempts,text,text,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.raise_budget(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.reckon_approvals(checkrein.attempts) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.record_delivery(bigint,text,integer,text,text,interval,interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.record_delivery(bigint,text,integer,text,text,interval,interval) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.refuse(text,text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.release(text,bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.release(text,bigint) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.retry_effect(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.revoke_token(text,text,text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.revoke_token(text,text,text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.save_checkpoint(checkrein.attempts,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.say(text,text,text,boolean,text,text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.say(text,text,text,boolean,text,text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.settle_rest(checkrein.attempts) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.start(text[],text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.start(text[],text[]) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.step_action(checkrein.attempts,text,text,bigint,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.step_approval(text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.step_attempt(text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.step_effect(checkrein.attempts,json,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.step_task(text,text) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.step_turn(text,integer,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.store_event(checkrein.attempts,text,text,bigint,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.take_lease(text,text,interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.take_lease(text,text,interval) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.use_permission(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.use_token(bytea,text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.use_token(bytea,text) TO checkrein_app;
REVOKE ALL ON FUNCTION checkrein.verify_effect(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.wait_for_effect(checkrein.attempts,json,bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.warn_of_budget(checkrein.attempts,json) FROM PUBLIC;
REVOKE ALL ON FUNCTION checkrein.yes_count(checkrein.approvals) FROM PUBLIC;
