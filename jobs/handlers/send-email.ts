import { createTransport } from "nodemailer";
import { z } from "zod";
import { loadMailEnv, type MailSettings } from "@/lib/env/mail";
import { defineJob, type ErrorClass, type HandlerContext, JobError, NonRetryableError } from "@/lib/execution";

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
const MOST_RECIPIENTS = 50;
const MOST_TEXT = 200_000;
const SHOWN_ANSWER = 300;

// No blanks, control characters or list separators: an address cannot become two, nor a header.
const address = z
  .string()
  .max(320)
  .regex(/^[^\s@<>(),;:"[\]\\]+@[A-Za-z0-9.-]+$/);
const line = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u);

const payload = z.strictObject({
  to: z
    .union([address, z.array(address).min(1).max(MOST_RECIPIENTS)])
    .describe('An address ("ada@example.com"), or a list of up to 50'),
  subject: line,
  text: z.string().min(1).max(MOST_TEXT).optional().describe("Plain text; this, html or both"),
  html: z.string().min(1).max(MOST_TEXT).optional(),
  reply_to: address.optional(),
});
type Mail = z.output<typeof payload>;

/**
 * Sends an e-mail through the installation's server. Attempts of one job carry the same Message-ID, so that receivers can
 * tell a mail that was sent twice because a worker died after the server had taken it.
 */
export const sendEmail = defineJob({
  key: "send-email",
  description: "Sends an e-mail through the mail server of this installation (SMTP_URL).",
  timeoutSeconds: 120,
  maxAttempts: 5,
  schema: payload,
  async run(ctx) {
    const settings = loadMailEnv();
    if (!settings)
      throw new NonRetryableError("no mail server is set up here: SMTP_URL and MAIL_FROM", { errorType: "internal" });
    if (ctx.payload.text === undefined && ctx.payload.html === undefined) {
      throw new NonRetryableError("a mail needs text or html", { errorType: "validation" });
    }
    return send(ctx, settings);
  },
});

async function send(ctx: HandlerContext<Mail>, { smtpUrl, from }: MailSettings) {
  const { to, subject, text, html, reply_to: replyTo } = ctx.payload;
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const onAbort = () => transport.close();
  ctx.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const sent = await transport.sendMail({
      from,
      to,
      subject,
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      ...(replyTo === undefined ? {} : { replyTo }),
      messageId: `<${ctx.jobId}@${domainOf(from)}>`,
      headers: { "auto-submitted": "auto-generated" },
    });
    return { message_id: sent.messageId, accepted: sent.accepted, rejected: sent.rejected };
  } catch (error) {
    throw asJobError(error as SmtpError);
  } finally {
    ctx.signal.removeEventListener("abort", onAbort);
    transport.close();
  }
}

const domainOf = (from: string): string => /@([A-Za-z0-9.-]+)>?$/.exec(from)?.[1] ?? "localhost";

type SmtpError = Error & { readonly code?: string; readonly responseCode?: number; readonly response?: string };

/** A refusal of the server is for good when its code says so (5xx), and for now otherwise; without one, nobody was reached. */
function asJobError({ code = "", responseCode = 0, response = "" }: SmtpError): JobError {
  const answer = response.slice(0, SHOWN_ANSWER);
  if (responseCode >= 500) {
    const errorType: ErrorClass = code === "EAUTH" ? "authentication" : "invalid_input";
    return new NonRetryableError(`the mail server refused: ${answer}`, { errorType });
  }
  if (responseCode >= 400) return new JobError(`the mail server put it off: ${answer}`, { errorType: "rate_limit" });
  return new JobError(`the mail server was not reached (${code || "unknown"})`, { errorType: "transient_network" });
}
