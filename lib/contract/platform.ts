import * as z from "zod";
import { WORKER_STATUSES } from "@/lib/queue/states";
import type { Worker } from "@/lib/queue/types";
import { id, instant, listOf, pageQuery, slug } from "./common";
import { LIMITS } from "./limits";

export type { Worker } from "@/lib/queue/types";

export const workerStatus = z.enum(WORKER_STATUSES);

export const worker = z.object({
  worker_id: z.string(),
  hostname: z.string(),
  pid: z.int(),
  version: z.string(),
  label: z.string(),
  queues: z.array(z.string()),
  definitions: z.array(z.string()),
  capacity: z.int(),
  running_count: z.int(),
  status: workerStatus,
  last_seen_at: instant,
  age_seconds: z.number(),
  started_at: instant,
  health_port: z.int().nullable(),
  isolation: z.string(),
  tz_version: z
    .string()
    .nullable()
    .meta({ description: 'Version of its time-zone data, such as "2025b"; null for remote workers' }),
  cpu_percent: z.number().nullable(),
  rss_bytes: z.number().nullable(),
  event_loop_lag_ms: z.number().nullable(),
}) satisfies z.ZodType<Worker>;

export const tzUse = z.object({
  tz_version: z.string().nullable(),
  workers: z.int(),
  schedulers: z.int(),
  web: z.int().meta({ description: "1 if the web process that answers has this version" }),
});
export type TzUse = z.infer<typeof tzUse>;

export const WORKER_THRESHOLDS = { late_seconds: 15, stale_seconds: 30, dead_seconds: 60 } as const;
export const workerList = z.object({
  data: z.array(worker),
  thresholds: z.object({ late_seconds: z.number(), stale_seconds: z.number(), dead_seconds: z.number() }),
  tz_versions: z.array(tzUse).meta({
    description: "Versions of the time-zone data of living processes; more than one: instants of schedules may differ",
  }),
  as_of: instant,
});
export type WorkerList = z.infer<typeof workerList>;

export const provider = z.object({
  id,
  tenant_id: id,
  tenant_slug: z.string(),
  name: z.string(),
  kind: z.literal("folder"),
  path: z.string(),
  created_at: instant,
});
export type Provider = z.infer<typeof provider>;
export const providerList = z.object({ data: z.array(provider) });
export const providerListQuery = z.strictObject({ tenant: z.union([id, slug]).optional() });

/** Body of POST /api/v1/admin/providers; `tenant` is an id or a slug, `path` a folder under one of PROVIDER_ROOTS. */
export const createProvider = z.strictObject({
  tenant: z.union([id, slug]),
  name: z.string().min(1).max(LIMITS.nameLength),
  kind: z.literal("folder").default("folder"),
  path: z.string().max(LIMITS.providerPathLength).regex(/^\//, "must be an absolute path"),
});
export type CreateProvider = z.input<typeof createProvider>;

/** A registered folder as its tenant sees it, without its path on the machine. */
export const tenantProvider = provider.pick({ id: true, name: true, kind: true, created_at: true });
export type TenantProvider = z.infer<typeof tenantProvider>;
export const tenantProviderList = z.object({ data: z.array(tenantProvider) });

export const asset = z.object({
  id,
  provider_id: id,
  path: z.string(),
  size: z.number(),
  sha256: z.string(),
  media_type: z.string(),
  modified_at: instant,
  created_at: instant,
  updated_at: instant,
});
export type Asset = z.infer<typeof asset>;
export const assetList = listOf(asset);
export type AssetList = z.infer<typeof assetList>;
export const assetListQuery = z.strictObject({ ...pageQuery, provider_id: id.optional() });

/** A list filled by import-csv. */
export const importedList = z.object({
  id,
  name: z.string(),
  columns: z.array(z.string()),
  row_count: z.number(),
  created_at: instant,
  updated_at: instant.meta({ description: "When the last import ended that filled it" }),
});
export type ImportedList = z.infer<typeof importedList>;
export const importedLists = listOf(importedList);
export type ImportedLists = z.infer<typeof importedLists>;
export const importedListQuery = z.strictObject(pageQuery);
