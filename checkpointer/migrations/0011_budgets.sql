-- Budgets: what is reserved and spent, in every pool that an attempt draws on; `project`, `start`
-- and `end_attempt` call these. A pool is one attempt's own limits, or those that all attempts of
-- a task share; a child draws on all pools of its parent as well.

CREATE FUNCTION limits_of(budgets json) RETURNS TABLE (budget text, lim bigint)
LANGUAGE sql IMMUTABLE AS $$
    SELECT key, CASE json_typeof(value) WHEN 'object' THEN value ->> 'limit'
                                        ELSE value #>> '{}' END::bigint
    FROM json_each(budgets) WHERE json_typeof(value) <> 'null'
$$;

CREATE FUNCTION open_pool(of_tenant text, id text, of_kind text, limits json) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO checkrein.pools VALUES (of_tenant, id, of_kind, limits #>> '{money,currency}');
    INSERT INTO checkrein.budgets (tenant, pool, budget, lim)
    SELECT of_tenant, id, l.budget, l.lim FROM checkrein.limits_of(limits) AS l;
$$;

-- Whoever books holds all pools of its attempt, taken in one order, so that nobody waits in a ring.
CREATE FUNCTION lock_pools(a attempts) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM checkrein.pools p JOIN checkrein.draws d ON d.pool = p.pool
    WHERE d.attempt_id = a.attempt_id ORDER BY p.pool FOR NO KEY UPDATE OF p;
END $$;

-- Book with the attempt and with every pool that it draws on; a reservation fits into all of them
-- or is refused. Nobody can release what it does not hold itself.
CREATE FUNCTION book(a attempts, name text, r bigint, s bigint) RETURNS void
LANGUAGE plpgsql AS $$
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
END $$;

CREATE FUNCTION on_budget(a attempts, p json) RETURNS void
LANGUAGE plpgsql AS $$
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
END $$;

-- Requests that are stored and not decided are outstanding, whichever event made or ended them.
CREATE FUNCTION reckon_approvals(a attempts) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- What an ended attempt still holds was perhaps used: it is spent. What was open is closed.
CREATE FUNCTION settle_rest(a attempts) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    u checkrein.usage;
BEGIN
    PERFORM checkrein.lock_pools(a);
    FOR u IN SELECT * FROM checkrein.usage WHERE attempt_id = a.attempt_id AND reserved > 0
             ORDER BY budget LOOP
        PERFORM checkrein.book(a, u.budget, -u.reserved, CASE WHEN u.budget IN
            ('approvals_outstanding', 'children') THEN 0 ELSE u.reserved END);
    END LOOP;
END $$;

-- A child counts in all pools of its parent, and begins only where one more child fits. The commit
-- of what a child made is a person's act: it draws on them too, whatever became of the parent.
CREATE FUNCTION become_child(a attempts, of_parent text, currency text) RETURNS void
LANGUAGE plpgsql AS $$
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
END $$;

CREATE FUNCTION begin_drawing(a attempts, p json) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

CREATE FUNCTION warn_of_budget(a attempts, p json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM checkrein.lock_pools(a);
    UPDATE checkrein.budgets b SET warned = true FROM checkrein.draws d
    WHERE d.attempt_id = a.attempt_id AND b.pool = d.pool AND b.pool = p ->> 'pool'
      AND b.budget = p ->> 'budget' AND NOT b.warned;
    IF NOT FOUND THEN
        PERFORM checkrein.refuse('CR002', 'that warning was given already');
    END IF;
END $$;

-- Who may raise a budget, by the contract: a role, else the commit authority, else whoever is
-- proven to be somebody. Asserted names are good up to the contract's risk, and nobody raises the
-- budgets of what they asked for themselves where duties are separated.
CREATE FUNCTION check_may_raise(a attempts, p json) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

CREATE FUNCTION raise_budget(a attempts, p json) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- Every line of every pool that an attempt draws on, its own first, beside what the attempts that
-- draw on it have used by their own records: the two agree, or somebody wrote past the functions.
CREATE FUNCTION books_of(of_attempt text) RETURNS TABLE (pool text, kind text, budget text,
    lim bigint, spent bigint, reserved bigint, warned boolean, drawn bigint, held bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
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
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA checkrein FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checkrein.books_of(text) TO checkrein_app;
