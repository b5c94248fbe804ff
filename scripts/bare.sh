#!/bin/sh
# Runs a program with its secrets on a pipe instead of in its environment: sh scripts/bare.sh node scripts/run.mjs worker
# The environment of a running process can be read by every process of the same user. This shell becomes the program, so
# process id, signals and exit code are the program's own. lib/env/secret-source.mjs reads the pipe and lists the names.
secrets=
for name in DATABASE_URL DATABASE_DIRECT_URL DATABASE_WEB_URL DATABASE_WORKER_URL DATABASE_SCHEDULER_URL \
  DATABASE_PLATFORM_URL DATABASE_AUTH_URL LEASEHOLD_SECRET AUTH_SECRET DATA_KEY SMTP_URL; do
  eval "isset=\${$name+yes} value=\${$name-}"
  [ "$isset" ] || continue
  secrets="$secrets$name=$value
"
  unset "$name"
done
unset name isset value
[ "$secrets" ] || exec "$@"
# A pipe of the parent holds its own; the two are never given together.
exec 9<<EOF
$secrets
EOF
unset secrets
export SECRETS_FD=9
exec "$@"
