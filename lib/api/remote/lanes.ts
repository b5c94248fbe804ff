import { BoundedMap } from "@/lib/async/bounded-map";
import { RemoteLanes, type RemoteScope } from "@/lib/queue/remote";

const MOST_SCOPES = 1000;
const known = new BoundedMap<string, RemoteLanes>(MOST_SCOPES);

/** Returns this process's cached lanes of a scope. */
export function lanesOf(scope: RemoteScope): RemoteLanes {
  const { definitions, queues, tenantId } = scope;
  const name = JSON.stringify([[...definitions].sort(), queues && [...queues].sort(), tenantId]);
  return known.getOrMake(name, () => new RemoteLanes());
}

/** Makes the next claims look at all lanes, because any lane may have ready jobs. */
export function askForWholeLooks(): void {
  for (const lanes of known.values()) lanes.askForWholeLook();
}
