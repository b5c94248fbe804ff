/*
 * The HTTP contract: zod schemas of every request and answer, limits, permissions, and error codes. Routes, the OpenAPI
 * document and the UI use the same schemas. Requests are strict: unknown fields are refused. Clients must ignore
 * unknown fields in answers.
 *
 * Start with `jobs/jobs.ts` and `common.ts`; `limits.ts` has the numbers, `problems.ts` the error codes, `shown.ts` the
 * fields hidden from callers without a permission, and `scan-json.ts` the checks before parsing.
 */

export * from "./common";
export * from "./events";
export * from "./jobs/artifacts";
export * from "./jobs/bulk";
export * from "./jobs/dead-letters";
export * from "./jobs/definitions";
export * from "./jobs/dependencies";
export * from "./jobs/job-actions";
export * from "./jobs/jobs";
export * from "./jobs/output";
export * from "./limits";
export * from "./permissions";
export * from "./platform";
export * from "./problems";
export * from "./queues";
export * from "./remote";
export * from "./scan-json";
export * from "./session";
export * from "./stream";
export * from "./tenants";
export * from "./triggers";
export * from "./webhooks";
export * from "./worker-keys";
