import { Reply } from "@/lib/api/http/respond";
import { createKey } from "@/lib/api/resources/worker-keys";
import { platformRoute } from "@/lib/api/route";
import { listWorkerKeys } from "@/lib/auth/worker-keys";
import { createWorkerKey, newWorkerKey, workerKeyList } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:worker-keys:read",
  summary: "List worker keys",
  response: workerKeyList,
  handler: async ({ db }) => ({ data: await listWorkerKeys(db) }),
});

export const POST = platformRoute({
  permission: "platform:worker-keys:write",
  summary: "Create a worker key. The key is returned only once",
  // A key could otherwise create a key that outlives it.
  sessionOnly: true,
  body: createWorkerKey,
  response: newWorkerKey,
  status: 201,
  withoutSecrets: (made) => ({ ...made, key: null }),
  handler: async (context) => new Reply(await createKey(context), { status: 201 }),
});
