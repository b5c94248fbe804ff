-- The demo's sample folders move with the installation's folder; the seed stores where they are now.
grant update (path) on app.providers to leasehold_platform;
