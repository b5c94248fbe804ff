import type { TestDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { expectProblem, startWeb } from "./web";

/** Starts the built front with two tenants, their admins' keys, a super admin's key and two definitions. */
export async function queueFixture(
  database: TestDatabase,
  env: Record<string, string> = {},
  options: Parameters<typeof startWeb>[2] = {},
) {
  const make = accountsIn(database);
  const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
  const [admin, other] = [
    await make.user({ roles: { [acme.id]: "admin" } }),
    await make.user({ roles: { [globex.id]: "admin" } }),
  ];
  const superAdmin = await make.user({ superAdmin: true });
  const { key } = await make.key(admin, { tenantId: acme.id });
  const { key: foreignKey } = await make.key(other, { tenantId: globex.id });
  const { key: superKey } = await make.key(superAdmin, {
    kind: "super_admin",
    scopes: ["jobs:read", "jobs:write", "triggers:read", "assets:read", "platform:read", "platform:write"],
  });
  const web = await startWeb(database, env, options);

  const define = async (body: Record<string, unknown>) => {
    const answer = await web.call("POST", "/api/v1/admin/jobs/definitions", { key: superKey, body });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body;
  };
  await define({ key: "any", description: "Takes anything" });
  await define({
    key: "strict",
    arg_schema: {
      type: "object",
      properties: { provider_id: { type: "string", format: "uuid" }, path_prefix: { type: "string" } },
      required: ["provider_id"],
      additionalProperties: false,
    },
  });

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    web.call("POST", "/api/v1/jobs", { key, body, headers });
  const enqueue = async (body: Record<string, unknown> = {}, as = key) => {
    const answer = await web.call("POST", "/api/v1/jobs", { key: as, body: { definition_key: "any", ...body } });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body;
  };
  const jobCount = async () => Number((await database.query("select count(*) as n from app.jobs"))[0]?.n);
  const get = (path: string, as = key) => web.call("GET", path, { key: as });
  return {
    web,
    make,
    acme,
    globex,
    admin,
    superAdmin,
    key,
    foreignKey,
    superKey,
    define,
    post,
    enqueue,
    get,
    jobCount,
    expectProblem,
  };
}
