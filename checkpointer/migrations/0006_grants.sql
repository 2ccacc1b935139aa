-- Least privilege: the application role reads tables and calls these functions; it cannot write.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA checkrein FROM PUBLIC;
GRANT USAGE ON SCHEMA checkrein TO checkrein_app;
GRANT SELECT ON ALL TABLES IN SCHEMA checkrein TO checkrein_app;
GRANT EXECUTE ON FUNCTION checkrein.now(), append(text, bigint, text[], text[], bytea[], boolean),
    start(text[], text[]), take_lease(text, text, interval), beat(text, bigint, interval),
    release(text, bigint), owns(text, bigint), position_of(text),
    say(text, text, text, boolean, text, text),
    effect_json(effects), grant_json(grants), approval_json(approvals)
TO checkrein_app;
