import type * as z from "zod";
import { insertWorkerKey, type MissingScope, revokeWorkerKey } from "@/lib/auth/worker-keys";
import type { CreateWorkerKey, newWorkerKey, ProblemCode, WorkerKey } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import { auditedChange } from "../audited";
import { HttpProblem, notFound } from "../http/problem";
import type { PlatformContext } from "../route";

type Made = z.infer<typeof newWorkerKey>;

/** Creates a worker's key with its audit line. The key's text is in this answer and nowhere else. */
export function createKey(context: PlatformContext<unknown, unknown, CreateWorkerKey>): Promise<Made> {
  const { body, principal } = context;
  return auditedChange(
    context,
    (db) => insert(db, body, principal.user.id),
    ({ id, name, definitions, queues, tenant_id }) => ({
      action: "worker_key.created",
      objectKind: "api_key",
      objectId: id,
      tenantId: tenant_id,
      detail: { name, definitions, queues },
    }),
  );
}

/** Revokes a worker's key with its audit line. */
export function revokeKey(context: PlatformContext<{ keyId: string }, unknown, unknown>): Promise<WorkerKey> {
  return auditedChange(
    context,
    async (db) => {
      const revoked = await revokeWorkerKey(db, context.params.keyId);
      if (!revoked) throw notFound();
      return revoked;
    },
    ({ id, name, tenant_id }) => ({
      action: "worker_key.revoked",
      objectKind: "api_key",
      objectId: id,
      tenantId: tenant_id,
      detail: { name },
    }),
  );
}

async function insert(db: Runner, body: CreateWorkerKey, createdBy: string) {
  const made = await insertWorkerKey(db, body, createdBy);
  if (!isMissing(made)) return made;
  const [first] = made;
  throw new HttpProblem(CODES[first?.kind ?? "tenant"], {
    errors: made.map(({ kind, pointer }) => ({ pointer, code: `${kind}-unknown`, detail: DETAILS[kind] })),
  });
}

const CODES: Readonly<Record<MissingScope["kind"], ProblemCode>> = {
  definition: "definition-unknown",
  queue: "queue-unknown",
  tenant: "validation-failed",
};
const DETAILS: Readonly<Record<MissingScope["kind"], string>> = {
  definition: "is not the key of a definition with the executor remote",
  queue: "is not the name of a queue",
  tenant: "is not a known tenant",
};

function isMissing<T extends object>(made: T | readonly MissingScope[]): made is readonly MissingScope[] {
  return Array.isArray(made);
}
