import { Reply } from "@/lib/api/http/respond";
import { registerProvider } from "@/lib/api/resources/register-provider";
import { platformRoute } from "@/lib/api/route";
import { createProvider, provider, providerList, providerListQuery } from "@/lib/contract";
import { listProviders } from "@/lib/inventory/providers";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:providers:read",
  summary: "List the registered folders",
  query: providerListQuery,
  response: providerList,
  handler: async ({ db, query }) => ({ data: await listProviders(db, query.tenant ?? null) }),
});

export const POST = platformRoute({
  permission: "platform:providers:write",
  summary: "Register a folder for a tenant",
  body: createProvider,
  response: provider,
  status: 201,
  handler: async (context) => new Reply(await registerProvider(context), { status: 201 }),
});
