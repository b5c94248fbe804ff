# One image for all processes; the command chooses which one runs.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN node scripts/build.mjs && npm prune --omit=dev --no-audit --no-fund

FROM node:20-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 HEALTH_PORT=8080 LOG_FORMAT=json LEASEHOLD_HOME=/data
WORKDIR /app
COPY --from=build /app ./
RUN mkdir /data && chown node /data
USER node
EXPOSE 3000 8080
# Node itself receives the signals of `docker stop`: no shell, no npm in between.
CMD ["node", "scripts/run.mjs", "web"]
