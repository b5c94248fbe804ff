import { openDatabase, roleUrl } from "@/lib/db";
import type { AdminEnv } from "@/lib/env/admin";
import { makeMember, makeSuperAdmin, type NewMember } from "./accounts";
import { ensureDefinitions } from "./definitions";
import { seedDemo } from "./demo";

export interface SeedOptions {
  readonly demo: boolean;
  /** Makes this person a super admin with a one-time password, which is printed once. */
  readonly adminEmail?: string;
  /** Makes this person a member of a tenant, and creates the tenant if missing. */
  readonly member?: NewMember;
  /** Also creates an API key for each person. */
  readonly key?: boolean;
  readonly log: (line: string) => void;
}

type SeedEnv = Pick<AdminEnv, "adminUrl" | "secret" | "prepare" | "home"> & Partial<Pick<AdminEnv, "roleUrls">>;

/** Creates the initial data of an installation. Running it again changes nothing that exists. */
export async function seed(env: SeedEnv, options: SeedOptions): Promise<void> {
  const { demo, adminEmail, member, key = false, log } = options;
  const open = (role: "platform" | "web") =>
    openDatabase({
      url: env.roleUrls?.[role] ?? roleUrl(env.adminUrl, env.secret, role),
      role,
      max: 2,
      prepare: env.prepare,
      applicationName: "leasehold seed",
    });
  const [db, web] = [open("platform"), open("web")];
  try {
    await ensureDefinitions(db, log);
    if (demo) await seedDemo({ db, web }, { home: env.home, log });
    if (adminEmail) await makeSuperAdmin(db, adminEmail, { key, log });
    if (member) await makeMember(db, member, { key, log });
  } finally {
    await Promise.all([db.close(), web.close()]);
  }
}
