-- name: claim
SELECT checkrein.claim_deliveries(%(deliverer)s, %(tenant)s, %(most)s,
    make_interval(secs => %(hold_s)s)) AS claim

-- name: record
SELECT checkrein.record_delivery(%(n)s, %(deliverer)s, %(try)s, %(outcome)s, %(note)s,
    make_interval(secs => %(again_s)s), make_interval(secs => %(give_up_s)s)) AS state

-- name: entries
SELECT o.key, o.kind, o.tenant, o.attempt_id, o.approval_id, o.at,
    coalesce((SELECT json_agg(json_build_object('deliverer', d.deliverer, 'state', d.state,
        'tries', d.tries, 'next_try_at', d.next_try_at, 'last_error', d.last_error,
        'delivered_at', d.delivered_at) ORDER BY d.deliverer)
        FROM checkrein.deliveries d WHERE d.n = o.n), '[]') AS deliveries
FROM (SELECT * FROM checkrein.outbox ORDER BY n DESC LIMIT %(limit)s) AS o
ORDER BY o.n
