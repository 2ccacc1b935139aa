-- Tokens of ours prove who somebody is. Only the SHA-256 of a token is ever here; the token itself
-- is long and random, so that nothing can be worked out from its hash.

CREATE TABLE tokens (
    tenant text NOT NULL CHECK (length(tenant) BETWEEN 1 AND 128),
    token_id text PRIMARY KEY CHECK (token_id ~ '^tok_[0-9a-f]{20}$'),
    hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    person text NOT NULL CHECK (length(person) BETWEEN 1 AND 128),
    scopes text[] NOT NULL CHECK (cardinality(scopes) > 0
        AND scopes <@ ARRAY['read', 'run', 'approve', 'reconcile', 'authority']),
    issued_by text NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
        CHECK (expires_at > issued_at AND expires_at <= issued_at + interval '366 days'),
    revoked_at timestamptz,
    revoked_by text,
    revoked_because text,
    last_used_at timestamptz
);

CREATE FUNCTION issue_token(id text, of_tenant text, of_person text, its_hash bytea,
                            its_scopes text[], days integer, who text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
DECLARE
    t timestamptz := checkrein.now();
BEGIN
    INSERT INTO tokens (tenant, token_id, hash, person, scopes, issued_by, issued_at, expires_at)
    VALUES (of_tenant, id, its_hash, of_person, its_scopes, who, t,
        t + make_interval(days => days));
END $$;

-- Whether a token is good for something now: ok, unknown, revoked, expired or scope. Without a
-- scope it is only asked who its owner is. Its use is noted once a minute, so that a program that
-- asks all the time does not write all the time.
CREATE FUNCTION use_token(its_hash bytea, wanted text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
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
END $$;

-- The first revocation stays, whoever repeats it.
CREATE FUNCTION revoke_token(id text, who text, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = checkrein, pg_catalog, pg_temp AS $$
BEGIN
    UPDATE tokens SET revoked_at = coalesce(revoked_at, checkrein.now()),
        revoked_by = coalesce(revoked_by, who), revoked_because = coalesce(revoked_because, why)
    WHERE token_id = id;
    IF NOT FOUND THEN
        PERFORM refuse('CR004', format('there is no token %s; `checkrein token list` lists them',
                                       id));
    END IF;
END $$;

REVOKE ALL ON FUNCTION issue_token(text, text, text, bytea, text[], integer, text),
    use_token(bytea, text), revoke_token(text, text, text) FROM PUBLIC;
GRANT SELECT ON tokens TO checkrein_app;
GRANT EXECUTE ON FUNCTION issue_token(text, text, text, bytea, text[], integer, text),
    use_token(bytea, text), revoke_token(text, text, text) TO checkrein_app;
