import { RemoteLanes, type RemoteScope } from "@/lib/queue/remote";

const MOST_SCOPES = 1000;
const known = new Map<string, RemoteLanes>();

/** Returns this process's cached lanes of a scope. */
export function lanesOf(scope: RemoteScope): RemoteLanes {
  const { definitions, queues, tenantId } = scope;
  const name = JSON.stringify([[...definitions].sort(), queues && [...queues].sort(), tenantId]);
  const lanes = known.get(name) ?? new RemoteLanes();
  if (known.size >= MOST_SCOPES) known.clear();
  known.set(name, lanes);
  return lanes;
}

/** Makes the next claims look at all lanes, because any lane may have ready jobs. */
export function askForWholeLooks(): void {
  for (const lanes of known.values()) lanes.askForWholeLook();
}
