-- As for every other function that runs with its owner's rights.
alter function app.snapshot_holders() set search_path = pg_catalog, app;
alter function app.sees_all_sessions() set search_path = pg_catalog, app;
