import { HttpProblem } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { signedInRoute } from "@/lib/api/route";
import { changePassword } from "@/lib/auth/change-password";
import { sessionCookie } from "@/lib/auth/cookies";
import { SESSION_ABSOLUTE_SECONDS } from "@/lib/auth/session";
import { passwordBucket, returnToBuckets, takeFromBucket } from "@/lib/auth/throttle";
import { weaknessOf } from "@/lib/auth/weak-password";
import { passwordChange, passwordChanged } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = signedInRoute({
  summary: "Change your password and end your other sessions",
  sessionOnly: true,
  body: passwordChange,
  response: passwordChanged,
  handler: async ({ principal, runtime, info, body }) => {
    if (principal.kind !== "user") throw new HttpProblem("forbidden", { detail: "An API key has no password." });
    if (isSame(body.new_password, body.current_password))
      throw refused("/new_password", "must differ from the current password");
    const { email, displayName } = principal.user;
    const weakness = weaknessOf(body.new_password, { email, displayName });
    if (weakness !== null) throw refused("/new_password", weakness);
    const bucket = passwordBucket(principal.user.id);
    const wait = await takeFromBucket(runtime.auth, bucket);
    if (wait > 0) throw tooMany(wait);
    const change = { userId: principal.user.id, current: body.current_password, next: body.new_password };
    const client = { ip: info.ip, userAgent: info.userAgent, requestId: info.id };
    const sessionId = await changePassword(runtime.auth, change, client);
    if (sessionId === null) throw refused("/current_password", "is not your current password");
    await returnToBuckets(runtime.auth, [bucket]);
    const cookie = sessionCookie(runtime.config.origin, sessionId, SESSION_ABSOLUTE_SECONDS);
    return new Reply({ changed: true as const }, { headers: { "set-cookie": cookie } });
  },
});

// Compares passwords in the form that is hashed, in which two spellings may be one password.
function isSame(one: string, other: string): boolean {
  return one.normalize("NFKC") === other.normalize("NFKC");
}

function tooMany(wait: number): HttpProblem {
  return new HttpProblem("too-many-requests", {
    detail: "Too many wrong passwords. Wait a little and try again.",
    headers: { "retry-after": String(Math.ceil(wait)) },
  });
}

function refused(pointer: string, detail: string): HttpProblem {
  return new HttpProblem("validation-failed", { errors: [{ pointer, code: "refused", detail }] });
}
