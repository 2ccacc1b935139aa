-- What people must hear of approvals, written in the transaction that makes it so, and what became
-- of each message at each deliverer. Whoever delivers is another process, at another time.

CREATE TABLE outbox (
    tenant text NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The same whenever it is sent again: receivers know by it what they have already.
    key text NOT NULL UNIQUE,
    attempt_id text NOT NULL REFERENCES attempts,
    approval_id text NOT NULL REFERENCES approvals,
    kind text NOT NULL CHECK (kind IN ('approval_requested', 'approval_escalated',
        'approval_decided', 'approval_expired', 'approval_stale', 'approval_revoked')),
    seq bigint NOT NULL,
    -- The request as it stood then: status, deadline, steps of escalation; and who said what.
    body json NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX outbox_of_attempt ON outbox (attempt_id, n);

-- From when on a deliverer hears of things. The tenant * is every tenant.
CREATE TABLE deliverers (
    tenant text NOT NULL,
    name text NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- While a message is SENDING, next_try_at is when its claim ends.
CREATE TABLE deliveries (
    tenant text NOT NULL,
    n bigint NOT NULL REFERENCES outbox,
    deliverer text NOT NULL,
    state text NOT NULL CHECK (state IN ('WAITING', 'SENDING', 'DELIVERED', 'GIVEN_UP', 'SKIPPED')),
    tries integer NOT NULL DEFAULT 0,
    first_try_at timestamptz,
    next_try_at timestamptz NOT NULL,
    last_error text NOT NULL DEFAULT '' CHECK (length(last_error) <= 300),
    delivered_at timestamptz,
    PRIMARY KEY (deliverer, n)
);
CREATE INDEX deliveries_open ON deliveries (deliverer, n) WHERE state IN ('WAITING', 'SENDING');

-- Called by checkrein.append for each event, after it was projected.
CREATE FUNCTION put_out(a attempts, of_type text, payload text, at_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
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
END $$;

-- Take up to `most` messages that are due, at most one of each attempt: a later one waits until
-- the earlier one is delivered or given up. Nobody else is given them before the claim ends.
CREATE FUNCTION claim_deliveries(of_deliverer text, of_tenant text, most integer, hold interval)
RETURNS SETOF json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
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
END $$;

-- What became of one try. That it arrived is believed of every try; that it failed only of the
-- newest one. Returns the state after it, or NULL where another try has settled it already.
CREATE FUNCTION record_delivery(of_n bigint, of_deliverer text, of_try integer, outcome text,
                                note text, again interval, give_up interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
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
END $$;

REVOKE ALL ON FUNCTION put_out(attempts, text, text, bigint),
    claim_deliveries(text, text, integer, interval),
    record_delivery(bigint, text, integer, text, text, interval, interval) FROM PUBLIC;
GRANT SELECT ON outbox, deliverers, deliveries TO checkrein_app;
GRANT EXECUTE ON FUNCTION claim_deliveries(text, text, integer, interval),
    record_delivery(bigint, text, integer, text, text, interval, interval) TO checkrein_app;
