/**
 * Makes the public origin known to every part of this process, next-auth included, which reads it from the environment
 * while it runs: AUTH_URL when set, else the loopback address with the port that is really taken. Returns it.
 */
export function publishOrigin(port: number): string {
  const configured = process.env.AUTH_URL?.trim();
  const origin = configured ? new URL(configured).origin : `http://127.0.0.1:${port}`;
  process.env.AUTH_URL = origin;
  process.env.NEXTAUTH_URL = origin;
  return origin;
}
