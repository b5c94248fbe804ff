import { requireTenant } from "@/lib/api/authorize";
import { HttpProblem } from "@/lib/api/http/problem";
import type { RequestHead, RequestInfo } from "@/lib/api/http/request-info";
import { identify } from "@/lib/api/route";
import { getRuntime } from "@/lib/api/runtime";
import { cookieNames, cookieValues } from "@/lib/auth/cookies";
import type { Principal } from "@/lib/auth/principal";
import { sessionHash } from "@/lib/auth/session";
import { BACKGROUND_HEADER } from "@/lib/contract/background";
import type { Watched } from "@/web/live/access-watch";
import { getAccessWatch } from "./access-source";

/** A request that was authorised to read the jobs of a tenant. */
export interface Reader {
  readonly tenantId: string;
  readonly principal: Principal;
  readonly info: RequestInfo;
}

/** Validates a request's query and returns the tenant in it, if any. */
export type TenantOfQuery = (search: string) => string | undefined;

/**
 * Authorises a request to read the jobs of the tenant in its header or its query.
 * @throws HttpProblem when access is denied
 */
export async function authorizeReader(request: RequestHead, tenantOf: TenantOfQuery): Promise<Reader> {
  const { runtime, principal, info } = await identify(request);
  const named = request.headers.get("x-tenant-id") ?? tenantOf(info.search) ?? null;
  const membership = await requireTenant(runtime, { principal, info, named }, ["jobs:read"]);
  return { tenantId: membership.tenant.id, principal, info };
}

/** Marks a request as a background request of the page, which is not activity of its user. */
export function asBackground({ url, method, headers }: RequestHead): RequestHead {
  const marked = new Headers(headers);
  marked.set(BACKGROUND_HEADER, "1");
  return { url, method, headers: marked };
}

/**
 * Calls `end` within two seconds after the access of an open answer was revoked. Returns a function that stops
 * watching. An unreachable database does not end the answer.
 */
export function watchAccess(
  request: RequestHead,
  { tenantId, principal }: Reader,
  { tenantOf, end }: { readonly tenantOf: TenantOfQuery; end(): void },
): () => void {
  const recheck = async () => {
    try {
      if ((await authorizeReader(asBackground(request), tenantOf)).tenantId !== tenantId) end();
    } catch (error) {
      if (!(error instanceof HttpProblem) || error.status >= 500) throw error;
      end();
    }
  };
  return getAccessWatch().add({ ...credentialOf(request, principal), userId: principal.user.id, recheck });
}

function credentialOf({ headers }: RequestHead, principal: Principal): Pick<Watched, "kind" | "credential"> {
  if (principal.kind === "api_key") return { kind: "key", credential: principal.key.id };
  const [sessionId = ""] = cookieValues(headers.get("cookie"), cookieNames(getRuntime().config.origin).session);
  return { kind: "session", credential: sessionHash(sessionId).toString("hex") };
}
