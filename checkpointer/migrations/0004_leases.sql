-- Ownership of an attempt. The row with fence and expiry is the authority; the session's advisory
-- lock only tells at once that a dead owner is dead.

CREATE FUNCTION lock_key(of_attempt text) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT hashtextextended('checkrein:' || of_attempt, 0) $$;

-- Returns the new fence, or NULL where another owner holds the attempt.
CREATE FUNCTION take_lease(of_attempt text, new_owner text, ttl interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
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
END $$;

CREATE FUNCTION beat(of_attempt text, under_fence bigint, ttl interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
DECLARE
    t timestamptz := checkrein.now();
BEGIN
    UPDATE attempts SET lease_until = t + ttl, held = held + (t - lease_seen), lease_seen = t
    WHERE attempt_id = of_attempt AND lease_fence = under_fence AND lease_owner IS NOT NULL;
    RETURN FOUND;
END $$;

CREATE FUNCTION release(of_attempt text, under_fence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
BEGIN
    UPDATE attempts SET lease_owner = NULL, lease_until = NULL, lease_backend = NULL,
        held = held + (checkrein.now() - lease_seen)
    WHERE attempt_id = of_attempt AND lease_fence = under_fence AND lease_owner IS NOT NULL;
    PERFORM pg_advisory_unlock(lock_key(of_attempt));
END $$;

CREATE FUNCTION owns(of_attempt text, under_fence bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM attempts WHERE attempt_id = of_attempt AND lease_fence = under_fence
                   AND lease_owner IS NOT NULL AND lease_until > checkrein.now())
$$;
