import { localOrigin } from "./local-origin.mjs";

/**
 * Makes the public origin known to every part of this process, next-auth included, which reads it from the environment
 * while it runs: AUTH_URL when set, else the address of the listener itself. Returns it.
 */
export function publishOrigin(host: string, port: number): string {
  const configured = process.env.AUTH_URL?.trim();
  const origin = configured ? new URL(configured).origin : localOrigin(host, port);
  process.env.AUTH_URL = origin;
  process.env.NEXTAUTH_URL = origin;
  return origin;
}
