-- Everything durable. Rows are written by checkrein.start and checkrein.append alone, which run as
-- the owner; the application role may read and call functions, and write nothing by itself.

CREATE TABLE tasks (
    tenant text NOT NULL,
    task_id text PRIMARY KEY,
    contract_version text NOT NULL,
    contract json NOT NULL,
    input_refs json NOT NULL,
    risk text NOT NULL,
    budget json NOT NULL,
    requested_by text NOT NULL,
    commit_authority text,
    status text NOT NULL,
    created_at timestamptz NOT NULL,
    -- The attempt that it is a child task of.
    parent text
);

CREATE TABLE attempts (
    tenant text NOT NULL,
    attempt_id text PRIMARY KEY,
    task_id text NOT NULL REFERENCES tasks,
    number integer NOT NULL CHECK (number > 0),
    body json NOT NULL,
    contract json NOT NULL,
    status text NOT NULL,
    detail text NOT NULL DEFAULT '',
    started_at timestamptz NOT NULL,
    candidate json,
    verification json,
    idle_turns integer NOT NULL DEFAULT 0,
    denied_turns integer NOT NULL DEFAULT 0,
    denials integer NOT NULL DEFAULT 0,
    -- The newest notice that the run goes in circles, and what has become of it.
    progress jsonb,
    private_seen boolean NOT NULL DEFAULT false,
    untrusted_seen boolean NOT NULL DEFAULT false,
    -- Digest of the plan that a person accepted; until then a task in plan mode changes nothing.
    plan_accepted text,
    -- Digest of the state that a person accepted as the result.
    result_accepted text,
    pause_requested boolean NOT NULL DEFAULT false,
    cancel_reason text,
    exhausted text,
    unfinished json NOT NULL DEFAULT '[]',
    lease_owner text,
    lease_fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    lease_seen timestamptz,
    lease_backend integer,
    held interval NOT NULL DEFAULT '0',
    head_seq bigint NOT NULL DEFAULT 0,
    head_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    UNIQUE (task_id, number)
);

-- Who signed what was verified; one signature a person.
CREATE TABLE acceptances (
    tenant text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts,
    accepted_by text NOT NULL,
    body json NOT NULL,
    PRIMARY KEY (attempt_id, accepted_by)
);

-- prev_hash and hash are raw SHA-256; cause_seq names an event of the same attempt.
CREATE TABLE events (
    tenant text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts,
    seq bigint NOT NULL CHECK (seq > 0),
    cause_seq bigint CHECK (cause_seq < seq),
    type text NOT NULL CHECK (type ~ '^[a-z_]+$'),
    at text NOT NULL,
    payload text NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (attempt_id, seq)
);

-- For `checkrein doctor`, which asks what became of the newest change of a policy's folder.
CREATE INDEX policy_changes ON events (at) WHERE type IN ('policy_reloaded', 'policy_refused');

CREATE TABLE blobs (
    tenant text NOT NULL,
    ref text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, ref)
);

CREATE TABLE turns (
    tenant text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts,
    turn integer NOT NULL CHECK (turn > 0),
    status text NOT NULL CHECK (status IN ('COMPILED', 'REQUESTED', 'RESPONDED', 'CLOSED')),
    sent text NOT NULL,
    manifest_ref text NOT NULL,
    lowest_trust text NOT NULL,
    model_tries integer NOT NULL DEFAULT 0,
    -- By which name the model was asked whose reply this is; model_id is its provider's word.
    model text,
    raw_ref text,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    model_id text,
    request_id text,
    usable integer NOT NULL DEFAULT 0,
    refused integer NOT NULL DEFAULT 0,
    open_calls integer NOT NULL DEFAULT 0,
    waits_for text CHECK (waits_for IN ('question', 'stopped')),
    waits_call text,
    text text,
    answer text,
    last_event bigint NOT NULL,
    PRIMARY KEY (attempt_id, turn)
);

-- What people are asked of sealed states, and what they said; once for each state.
CREATE TABLE judgements (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    state_digest text NOT NULL,
    check_name text NOT NULL,
    role text NOT NULL,
    question text NOT NULL,
    verdict text CHECK (verdict IN ('pass', 'fail')),
    said_by text NOT NULL DEFAULT '',
    authenticated boolean NOT NULL DEFAULT false,
    note text NOT NULL DEFAULT '',
    asked_at bigint NOT NULL,
    PRIMARY KEY (attempt_id, state_digest, check_name),
    FOREIGN KEY (attempt_id, turn) REFERENCES turns
);

CREATE TABLE actions (
    tenant text NOT NULL,
    action_id text PRIMARY KEY,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    position integer NOT NULL,
    revision integer NOT NULL,
    type text NOT NULL,
    resource text NOT NULL,
    side_effect_class text NOT NULL,
    idempotency_key text NOT NULL,
    args_hash text NOT NULL,
    body json NOT NULL,
    status text NOT NULL,
    operation_hash text,
    -- The permission that it was sent under, where no approval of its own was asked for.
    permission_id text,
    last_event bigint NOT NULL,
    UNIQUE (attempt_id, turn, position, revision),
    FOREIGN KEY (attempt_id, turn) REFERENCES turns
);

CREATE TABLE decisions (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    seq bigint NOT NULL,
    action_id text NOT NULL REFERENCES actions,
    phase text NOT NULL,
    body json NOT NULL,
    input_ref text NOT NULL,
    PRIMARY KEY (attempt_id, seq)
);
CREATE INDEX decisions_of_action ON decisions (action_id, seq);

CREATE TABLE approvals (
    tenant text NOT NULL,
    approval_id text PRIMARY KEY,
    attempt_id text NOT NULL REFERENCES attempts,
    action_id text NOT NULL REFERENCES actions,
    request_revision integer NOT NULL,
    body json NOT NULL,
    operation_hash text NOT NULL,
    resource_version text NOT NULL,
    status text NOT NULL,
    interrupt_id text,
    requested_at timestamptz,
    expires_at timestamptz,
    -- How many steps of body.escalation were taken.
    escalated integer NOT NULL DEFAULT 0,
    UNIQUE (action_id, request_revision)
);
CREATE INDEX approvals_open ON approvals (attempt_id) WHERE status IN ('PREPARED', 'PENDING');

CREATE TABLE grants (
    tenant text NOT NULL,
    approval_id text NOT NULL REFERENCES approvals,
    approver text NOT NULL,
    answer text NOT NULL,
    authority text NOT NULL,
    authenticated boolean NOT NULL,
    reason text NOT NULL,
    args json,
    reach json,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (approval_id, approver)
);

-- A yes that stands for more than its one action; used up one by one.
CREATE TABLE permissions (
    tenant text NOT NULL,
    permission_id text PRIMARY KEY REFERENCES approvals,
    task_id text NOT NULL REFERENCES tasks,
    capability text NOT NULL,
    body json NOT NULL,
    uses_left integer NOT NULL CHECK (uses_left >= 0),
    expires_at timestamptz NOT NULL
);
CREATE INDEX permissions_of_task ON permissions (task_id) WHERE uses_left > 0;

CREATE TABLE effects (
    tenant text NOT NULL,
    effect_id text PRIMARY KEY,
    attempt_id text NOT NULL REFERENCES attempts,
    action_id text NOT NULL REFERENCES actions,
    resource text NOT NULL,
    key text NOT NULL,
    operation_hash text NOT NULL,
    status text NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    from_version text NOT NULL DEFAULT '',
    to_version text NOT NULL DEFAULT '',
    outcome json,
    source text,
    -- Sent, and the target could not be asked what became of it.
    pending boolean NOT NULL DEFAULT false,
    -- What reading the real system back said after the receipt.
    verified boolean,
    bound_seq bigint NOT NULL,
    bound_at timestamptz NOT NULL,
    UNIQUE (tenant, resource, key)
);
CREATE INDEX effects_of_attempt ON effects (attempt_id);
CREATE INDEX effects_of_action ON effects (action_id);

CREATE TABLE tool_tries (
    tenant text NOT NULL,
    action_id text NOT NULL REFERENCES actions,
    n integer NOT NULL,
    effect_id text REFERENCES effects,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    outcome text NOT NULL,
    PRIMARY KEY (action_id, n)
);

CREATE TABLE observations (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    position integer NOT NULL,
    action_id text NOT NULL,
    body json NOT NULL,
    PRIMARY KEY (attempt_id, turn, position),
    FOREIGN KEY (attempt_id, turn) REFERENCES turns
);

CREATE TABLE verifications (
    tenant text NOT NULL,
    attempt_id text NOT NULL,
    turn integer NOT NULL,
    body json NOT NULL,
    repair boolean NOT NULL,
    PRIMARY KEY (attempt_id, turn),
    FOREIGN KEY (attempt_id, turn) REFERENCES turns
);

-- The newest safe point of each attempt, written in the transaction that makes it one.
CREATE TABLE checkpoints (
    tenant text NOT NULL,
    attempt_id text PRIMARY KEY REFERENCES attempts,
    state_version bigint NOT NULL,
    event_offset bigint NOT NULL,
    workspace_ref text,
    pending_effect_ids text[] NOT NULL,
    context_projection_ref text,
    saved_at timestamptz NOT NULL
);

-- What people took back or gave, since any policy was written; the newest word on each counts.
CREATE TABLE authority (
    tenant text NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('user', 'agent', 'capability', 'resource', 'grant', 'secret')),
    value text NOT NULL CHECK (length(value) BETWEEN 1 AND 1024),
    granted boolean NOT NULL,
    said_by text NOT NULL,
    reason text NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX authority_newest ON authority (tenant, kind, value, n DESC);

-- Whose limits: one attempt's own, or those that all attempts of a task share. Their row is the lock
-- of whoever books.
CREATE TABLE pools (
    tenant text NOT NULL,
    pool text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('attempt', 'task')),
    currency text
);

-- wall_time_s is metered by the lease (attempts.held), the others by events.
CREATE TABLE budgets (
    tenant text NOT NULL,
    pool text NOT NULL REFERENCES pools,
    budget text NOT NULL,
    lim bigint NOT NULL CHECK (lim >= 0),
    spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
    reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    -- That little is left was said since the limit was last raised.
    warned boolean NOT NULL DEFAULT false,
    PRIMARY KEY (pool, budget)
);

-- The pools that an attempt draws on: its own, its task's, and, inherited, those of its parent.
CREATE TABLE draws (
    tenant text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts,
    pool text NOT NULL REFERENCES pools,
    inherited boolean NOT NULL,
    PRIMARY KEY (attempt_id, pool)
);
CREATE INDEX draws_of_pool ON draws (pool);

-- What each attempt itself has spent and holds reserved, by its own events.
CREATE TABLE usage (
    tenant text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts,
    budget text NOT NULL,
    spent bigint NOT NULL CHECK (spent >= 0),
    reserved bigint NOT NULL CHECK (reserved >= 0),
    PRIMARY KEY (attempt_id, budget)
);

CREATE TABLE transitions (
    machine text NOT NULL,
    current text NOT NULL,
    event text NOT NULL,
    next text NOT NULL,
    PRIMARY KEY (machine, current, event)
);

-- What never changes lies beside its row, so that the many small updates do not copy it.
ALTER TABLE attempts ALTER body SET STORAGE EXTERNAL, ALTER contract SET STORAGE EXTERNAL,
    SET (toast_tuple_target = 128, fillfactor = 50);
ALTER TABLE actions ALTER body SET STORAGE EXTERNAL,
    SET (toast_tuple_target = 128, fillfactor = 70);
ALTER TABLE turns SET (fillfactor = 70);
ALTER TABLE budgets SET (fillfactor = 50);
ALTER TABLE usage SET (fillfactor = 50);
ALTER TABLE effects SET (fillfactor = 70);
