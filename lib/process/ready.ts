export interface Ready {
  readonly port?: number;
  readonly workerId?: string;
}

/** Notifies the supervisor, if there is one, that this process is ready. */
export function announceReady(ready: Ready): void {
  if (process.connected) process.send?.({ type: "ready", ...ready });
}
