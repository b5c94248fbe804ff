import { HttpProblem } from "@/lib/api/problem";
import { Reply } from "@/lib/api/respond";
import { signedInRoute } from "@/lib/api/route";
import { changePassword } from "@/lib/auth/change-password";
import { sessionCookie } from "@/lib/auth/cookies";
import { SESSION_ABSOLUTE_SECONDS } from "@/lib/auth/session";
import { accountBucket, LOGIN_ACCOUNT, returnToBucket, takeFromBucket } from "@/lib/auth/throttle";
import { passwordChange, passwordChanged } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = signedInRoute({
  summary: "Change your password; every other session of yours ends",
  body: passwordChange,
  response: passwordChanged,
  handler: async ({ principal, runtime, info, body }) => {
    if (principal.kind !== "user") throw new HttpProblem("forbidden", { detail: "An API key has no password." });
    const bucket = accountBucket(principal.user.email);
    const wait = await takeFromBucket(runtime.auth, bucket, LOGIN_ACCOUNT);
    if (wait > 0) throw new HttpProblem("too-many-requests", { headers: { "retry-after": String(wait) } });
    if (body.new_password === body.current_password) throw refused("/new_password", "must be another one");
    const change = { userId: principal.user.id, current: body.current_password, next: body.new_password };
    const client = { ip: info.ip, userAgent: info.userAgent, requestId: info.id };
    const sessionId = await changePassword(runtime.auth, change, client);
    if (sessionId === null) throw refused("/current_password", "is not your present password");
    await returnToBucket(runtime.auth, bucket, LOGIN_ACCOUNT);
    const cookie = sessionCookie(runtime.config.origin, sessionId, SESSION_ABSOLUTE_SECONDS);
    return new Reply({ changed: true as const }, { headers: { "set-cookie": cookie } });
  },
});

function refused(pointer: string, detail: string): HttpProblem {
  return new HttpProblem("validation-failed", { errors: [{ pointer, code: "refused", detail }] });
}
