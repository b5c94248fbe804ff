import { localOrigin } from "./local-origin.mjs";

/**
 * Sets the public origin for every part of this process: AUTH_URL if set, else the address of the listener. next-auth
 * reads it from the environment at run time. Returns the origin.
 */
export function publishOrigin(host: string, port: number): string {
  const configured = process.env.AUTH_URL?.trim();
  const origin = configured ? new URL(configured).origin : localOrigin(host, port);
  process.env.AUTH_URL = origin;
  process.env.NEXTAUTH_URL = origin;
  return origin;
}
