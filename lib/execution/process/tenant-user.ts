import { createHash } from "node:crypto";
import type { RunAs } from "./run-as";
import type { Isolation } from "./supervisor";

/** Far above the user ids of people, services, containers and dynamic users. */
const LOWEST_UID = 1_000_000_000;
const UIDS = 2 ** 30;

/**
 * Returns the user that a tenant's commands run as; null means the worker's own user.
 *
 * With a user id per tenant, the kernel counts each tenant's processes separately, and a tenant's commands can change
 * each other's files in its folders, on every machine. The id is derived from the tenant's id. Two tenants rarely share
 * one; then only the count of their processes is shared.
 */
export function tenantUser({ runAs, ownUsers }: Pick<Isolation, "runAs" | "ownUsers">, tenantId: string): RunAs | null {
  if (!runAs || !ownUsers) return runAs;
  const uid = LOWEST_UID + (createHash("sha256").update(tenantId).digest().readUInt32BE(0) % UIDS);
  return { uid, gid: runAs.gid, name: String(uid) };
}
