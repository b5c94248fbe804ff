import { parseArgs } from "node:util";
import { tenantRole } from "@/lib/contract";
import type { SeedOptions } from "./seed";

export const USAGE =
  "usage: migrate [--create-database] [--new-data-key] [--secrets FOLDER] [--resume | --pause] | migrate --roles [--create-database] | " +
  "seed [--demo] [--admin EMAIL] [--tenant SLUG --member EMAIL [--role admin|member|viewer]] [--key]";

const MIGRATE_OPTIONS = {
  "create-database": { type: "boolean" },
  "new-data-key": { type: "boolean" },
  secrets: { type: "string" },
  resume: { type: "boolean" },
  pause: { type: "boolean" },
  roles: { type: "boolean" },
} as const;

const SEED_OPTIONS = {
  demo: { type: "boolean" },
  admin: { type: "string" },
  tenant: { type: "string" },
  member: { type: "string" },
  role: { type: "string" },
  key: { type: "boolean" },
} as const;

/** Parses the options of `migrate`. @throws Error with the usage if an option is unknown or lacks its value */
export function migrateOptions(args: readonly string[]) {
  return read(args, MIGRATE_OPTIONS);
}

/**
 * Parses the options of `seed`. @throws Error with the usage if an option is unknown, lacks its value or others it
 * needs
 */
export function seedOptions(args: readonly string[], demo: boolean): Omit<SeedOptions, "log"> {
  const values = read(args, SEED_OPTIONS);
  const { admin, tenant, member, role = "admin", key = false } = values;
  const people = admin !== undefined || member !== undefined;
  const parsedRole = tenantRole.safeParse(role);
  if ((tenant === undefined) !== (member === undefined) || (key && !people) || !parsedRole.success) {
    throw new Error(USAGE);
  }
  return {
    demo: values.demo === true || (demo && !people),
    key,
    ...(admin === undefined ? {} : { adminEmail: admin }),
    ...(tenant === undefined || member === undefined
      ? {}
      : { member: { tenant, email: member, role: parsedRole.data } }),
  };
}

type Options = Readonly<Record<string, { readonly type: "boolean" | "string" }>>;

function read<T extends Options>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`);
  }
}
