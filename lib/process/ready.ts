export interface Ready {
  readonly port?: number;
  readonly workerId?: string;
}

/** Tells a supervisor, when there is one, that this process is at work. */
export function announceReady(ready: Ready): void {
  if (process.connected) process.send?.({ type: "ready", ...ready });
}
