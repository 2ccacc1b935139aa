-- Reads for checkpointer/approval_metrics.py. Each query follows a line `-- name: NAME`.

-- name: moment
SELECT coalesce(%(since)s::timestamptz,
    checkrein.now() - make_interval(secs => %(ago_s)s::float8)) AS since

-- name: decided
-- The first decision on each action: a fresh one after a stale request is none of its own.
SELECT count(*) AS actions,
    count(*) FILTER (WHERE said IN ('ALLOW', 'CONSTRAINED_ALLOW')) AS allowed,
    count(*) FILTER (WHERE said = 'REQUIRE_APPROVAL' AND permission_id IS NOT NULL) AS covered,
    count(*) FILTER (WHERE said = 'REQUIRE_APPROVAL' AND permission_id IS NULL) AS asked,
    count(*) FILTER (WHERE said = 'DENY') AS denied,
    (count(*) FILTER (WHERE said = 'REQUIRE_APPROVAL' AND permission_id IS NULL))::float8
        / nullif(count(*), 0) AS share_asked
FROM (
    SELECT DISTINCT ON (d.action_id) d.body ->> 'decision' AS said, x.permission_id, e.at
    FROM checkrein.decisions d
    JOIN checkrein.actions x USING (action_id)
    JOIN checkrein.events e ON e.attempt_id = d.attempt_id AND e.seq = d.seq
    WHERE d.phase = 'propose' AND (%(tenant)s::text IS NULL OR d.tenant = %(tenant)s)
    ORDER BY d.action_id, d.seq
) AS first
WHERE %(since)s::timestamptz IS NULL OR at::timestamptz >= %(since)s::timestamptz

-- name: by_rule
-- One row for each rule, and one without a reason code for all of them.
WITH requests AS (
    SELECT p.*, p.body ->> 'reason_code' AS reason_code,
        (p.body #>> '{terms,quorum}')::integer AS quorum,
        p.status IN ('PENDING', 'GRANTED') AND p.expires_at <= checkrein.now() AS overdue,
        (SELECT count(*) FROM checkrein.grants g
         WHERE g.approval_id = p.approval_id AND g.answer = 'approve') AS yes,
        -- Of those who said yes, who still may: nobody has revoked them since.
        (SELECT count(*) FROM checkrein.grants g
         WHERE g.approval_id = p.approval_id AND g.answer = 'approve'
           AND coalesce((SELECT w.granted FROM checkrein.authority w WHERE w.tenant = p.tenant
                         AND w.kind = 'user' AND w.value = g.approver
                         ORDER BY w.n DESC LIMIT 1), true)) AS standing
    FROM checkrein.approvals p
    WHERE p.requested_at IS NOT NULL
      AND (%(tenant)s::text IS NULL OR p.tenant = %(tenant)s)
      AND (%(since)s::timestamptz IS NULL OR p.requested_at >= %(since)s::timestamptz)
), answers AS (
    SELECT r.approval_id, r.reason_code, e.seq, s.said ->> 'answer' AS answer,
        s.said ->> 'approver' AS approver,
        extract(epoch FROM e.at::timestamptz - r.requested_at)::float8 AS seconds
    FROM requests r
    JOIN checkrein.events e ON e.attempt_id = r.attempt_id AND e.type = 'approval_decided'
    CROSS JOIN LATERAL (SELECT e.payload::json AS said) AS s
    WHERE s.said ->> 'approval_id' = r.approval_id
), judged AS (
    SELECT r.*, r.status IN ('GRANTED', 'USED')
            OR (r.status IN ('STALE', 'REVOKED', 'EXPIRED') AND r.yes >= r.quorum) AS approved,
        (SELECT g.answer FROM checkrein.grants g WHERE g.approval_id = r.approval_id
           AND g.answer IN ('edit', 'respond') LIMIT 1) AS instead
    FROM requests r
), held AS (
    SELECT j.*,
        -- Whoever said yes took it back before the others had said theirs.
        EXISTS (SELECT FROM answers y JOIN answers n USING (approval_id, approver)
                WHERE y.approval_id = j.approval_id AND y.answer = 'approve'
                  AND n.answer <> 'approve' AND n.seq > y.seq)
        OR (j.approved AND (
            j.status IN ('STALE', 'REVOKED')
            OR (j.status <> 'USED' AND j.standing < j.quorum)
            OR NOT coalesce((SELECT w.granted FROM checkrein.authority w
                WHERE w.tenant = j.tenant AND w.kind = 'grant' AND w.value = j.approval_id
                ORDER BY w.n DESC LIMIT 1), true)
            OR EXISTS (SELECT FROM checkrein.effects e WHERE e.action_id = j.action_id
                AND (e.verified IS FALSE OR EXISTS (
                    SELECT FROM checkrein.actions x JOIN checkrein.effects c USING (action_id)
                    WHERE x.tenant = j.tenant AND x.body ->> 'compensates' = e.effect_id
                      AND c.status = 'COMMITTED'))))) AS overturned
    FROM judged j
), counted AS (
    SELECT reason_code, count(*) AS asked,
        count(*) FILTER (WHERE approved) AS approved,
        count(*) FILTER (WHERE status = 'REJECTED') AS rejected,
        count(*) FILTER (WHERE instead = 'edit') AS edited,
        count(*) FILTER (WHERE instead = 'respond') AS responded,
        count(*) FILTER (WHERE NOT approved AND (overdue OR status = 'EXPIRED')) AS expired,
        count(*) FILTER (WHERE NOT approved AND status = 'REVOKED') AS withdrawn,
        count(*) FILTER (WHERE status = 'PENDING' AND NOT overdue) AS open,
        count(*) FILTER (WHERE overturned) AS overturned
    FROM held GROUP BY GROUPING SETS ((reason_code), ())
), timed AS (
    SELECT reason_code, count(*) AS answers,
        count(*) FILTER (WHERE answer = 'approve') AS yes,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS median_s,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90_s,
        count(*) FILTER (WHERE answer = 'approve' AND seconds < %(blind_s)s) AS blind
    FROM answers GROUP BY GROUPING SETS ((reason_code), ())
)
SELECT c.reason_code, c.asked, c.approved, c.rejected, c.edited, c.responded, c.expired,
    c.withdrawn, c.open, coalesce(t.answers, 0) AS answers, coalesce(t.yes, 0) AS yes,
    t.median_s, t.p90_s,
    CASE WHEN t.yes > 0 THEN t.blind END AS blind,
    t.blind::float8 / nullif(t.yes, 0) AS blind_share,
    CASE WHEN t.yes > 0 THEN c.overturned END AS overturned
FROM counted c LEFT JOIN timed t ON t.reason_code IS NOT DISTINCT FROM c.reason_code
ORDER BY c.asked DESC, c.reason_code
