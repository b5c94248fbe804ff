import { type Database, openDatabase, roleUrl } from "@/lib/db";
import type { AdminEnv } from "@/lib/env/admin";
import { ensureDefinitions } from "./definitions";
import { seedDemo } from "./demo";
import { newPassword, putUser } from "./people";

export interface SeedOptions {
  readonly demo: boolean;
  /** Makes this person a super admin with a one-time password, which is printed once. */
  readonly adminEmail?: string;
  readonly log: (line: string) => void;
}

/** Brings in what an installation starts with. Running it again changes nothing that is there. */
export async function seed(env: Omit<AdminEnv, "dataKey">, { demo, adminEmail, log }: SeedOptions): Promise<void> {
  const open = (role: "platform" | "web") =>
    openDatabase({
      url: roleUrl(env.adminUrl, env.secret, role),
      role,
      max: 2,
      prepare: env.prepare,
      applicationName: "leasehold seed",
    });
  const [db, web] = [open("platform"), open("web")];
  try {
    await ensureDefinitions(db, log);
    if (demo) await seedDemo({ db, web }, { home: env.home, log });
    if (adminEmail) await makeSuperAdmin(db, adminEmail, log);
  } finally {
    await Promise.all([db.close(), web.close()]);
  }
}

async function makeSuperAdmin(db: Database, email: string, log: SeedOptions["log"]): Promise<void> {
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Error("--admin needs an e-mail address.");
  const password = newPassword();
  await putUser(db, { email, name: "Super admin", password, superAdmin: true, mustChange: true });
  log(`Super admin:        ${email.toLowerCase()}`);
  log(`One-time password:  ${password}`);
}
