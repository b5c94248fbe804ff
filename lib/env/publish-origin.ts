/**
 * Makes the public origin known to every part of this process, next-auth included, which reads it from the environment
 * while it runs. Returns it.
 */
export function publishOrigin(origin: string): string {
  process.env.AUTH_URL = origin;
  process.env.NEXTAUTH_URL = origin;
  return origin;
}
