-- Reads for checkpointer/tokens.py. Each query follows a line `-- name: NAME`.

-- name: by_hash
SELECT hash, token_id, tenant, person, scopes, issued_by, issued_at, expires_at, revoked_at,
    revoked_by, revoked_because, last_used_at
FROM checkrein.tokens WHERE hash = %(hash)s

-- name: one
SELECT token_id, tenant, person, scopes, issued_by, issued_at, expires_at, revoked_at, revoked_by,
    revoked_because, last_used_at, expires_at <= checkrein.now() AS expired
FROM checkrein.tokens WHERE token_id = %(token)s

-- name: listed
SELECT token_id, tenant, person, scopes, issued_by, issued_at, expires_at, revoked_at, revoked_by,
    revoked_because, last_used_at, expires_at <= checkrein.now() AS expired
FROM checkrein.tokens
WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s
ORDER BY issued_at DESC, token_id LIMIT 1000
