import { connect, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import SMTPTransport from "nodemailer/lib/smtp-transport/index.js";
import { z } from "zod";
import { loadMailEnv, type MailSettings } from "@/lib/env/mail";
import {
  defineJob,
  type ErrorClass,
  type HandlerContext,
  JobError,
  jsonSchemaOf,
  NonRetryableError,
} from "@/lib/execution";
import { cutCharacters } from "@/lib/text/cut-characters";

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
const SMTPS_PORT = 465;
const SUBMISSION_PORT = 587;
const MOST_RECIPIENTS = 50;
const MOST_TEXT = 200_000;
const SHOWN_ANSWER = 300;

// No blanks, control or invisible characters, or list separators, so that an address cannot become two, another one, or
// a header.
const address = z
  .string()
  .max(320)
  .regex(/^[^\p{C}\p{Z}@<>(),;:"[\]\\]+@[A-Za-z0-9.-]+$/u);
const line = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u);

const isRecipients = (value: unknown): boolean =>
  address.or(z.array(address).min(1).max(MOST_RECIPIENTS)).safeParse(value).success;
// One schema instead of two alternatives, so that a bad address is one error.
const recipients = z
  .unknown()
  .refine(isRecipients, "must be an address, or a list of 1 to 50 of them")
  .meta({
    ...jsonSchemaOf(address),
    type: ["string", "array"],
    items: jsonSchemaOf(address),
    minItems: 1,
    maxItems: MOST_RECIPIENTS,
    description: 'An address ("ada@example.com"), or a list of up to 50',
  });

const payload = z
  .strictObject({
    to: recipients,
    subject: line,
    text: z.string().min(1).max(MOST_TEXT).optional().describe("Plain text; this, html or both"),
    html: z.string().min(1).max(MOST_TEXT).optional(),
    reply_to: address.optional(),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined, "must have text or html")
  .meta({ anyOf: [{ required: ["text"] }, { required: ["html"] }] });
type Mail = z.output<typeof payload>;

/**
 * Sends an e-mail through the installation's server. All attempts of a job send the same Message-ID, so that receivers
 * can recognise a duplicate from a worker that died after the server had accepted the mail.
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
      throw new NonRetryableError("no mail server is configured: set SMTP_URL and MAIL_FROM", {
        errorType: "internal",
      });
    return sendToAll(ctx, settings);
  },
});

/** The outcome for one recipient; `deferred` ones are retried. */
interface Outcome {
  readonly address: string;
  readonly outcome: "accepted" | "refused" | "deferred";
  readonly answer?: string;
}

/**
 * Sends in rounds, each to the recipients that are still open, and stores each round's outcomes. So a later attempt
 * never sends again to a recipient whom the server has accepted. Ends when no recipient is deferred.
 */
async function sendToAll(ctx: HandlerContext<Mail>, settings: MailSettings) {
  let open = recipientsOf(ctx);
  const known = new Map<string, Outcome>();
  for (let round = 1, isOver = false; !isOver && open.length > 0; round += 1) {
    const outcomes = await ctx.step(`round ${round}`, () => {
      isOver = true;
      return send(ctx, settings, open);
    });
    for (const outcome of outcomes) known.set(oneSpelling(outcome.address), outcome);
    open = open.filter((one) => known.get(one)?.outcome === "deferred");
  }
  const all = [...known.values()];
  const of = (wanted: Outcome["outcome"]) => all.filter(({ outcome }) => outcome === wanted);
  const described = (outcomes: readonly Outcome[]) =>
    outcomes.map(({ address, answer }) => `${address}: ${answer}`).join("; ");
  const accepted = of("accepted").map((one) => one.address);
  const refused = of("refused");
  if (open.length > 0) {
    const counts = `${accepted.length} accepted, ${refused.length} refused`;
    const message = `the mail server deferred ${open.length} of ${all.length} recipients (${counts}): ${described(of("deferred"))}`;
    throw new JobError(message, { errorType: "rate_limit" });
  }
  if (accepted.length === 0) {
    throw new NonRetryableError(`the mail server refused: ${described(refused)}`, { errorType: "invalid_input" });
  }
  return {
    message_id: messageId(ctx, settings),
    accepted,
    rejected: refused.map((one) => one.address),
    ...(refused.length === 0 ? {} : { refusals: refused.map(({ address, answer }) => ({ address, answer })) }),
  };
}

/** Lower-cases the domain, because the mail library sends, and the server answers, lower case. */
const oneSpelling = (address: string): string => {
  const at = address.lastIndexOf("@");
  return address.slice(0, at) + address.slice(at).toLowerCase();
};

const recipientsOf = ({ payload }: HandlerContext<Mail>): string[] => [
  ...new Set([payload.to as string | string[]].flat().map(oneSpelling)),
];

const messageId = (ctx: HandlerContext<Mail>, { from }: MailSettings) => `<${ctx.jobId}@${domainOf(from)}>`;
/** Bare CR and LF are not allowed in a mail, and servers disagree on what they mean. */
const withCrLf = (text: string) => text.replace(/\r\n|\r|\n/g, "\r\n");

async function send(ctx: HandlerContext<Mail>, settings: MailSettings, to: readonly string[]): Promise<Outcome[]> {
  const { subject, text, html, reply_to: replyTo } = ctx.payload;
  // A separate transport object, because createTransport drops every other option beside a URL, the time limits among
  // them.
  const transport = createTransport(
    new SMTPTransport({
      url: settings.smtpUrl,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      getSocket: (options, done) => openConnection(options, ctx.signal, done),
    }),
  );
  try {
    const sent = await transport.sendMail({
      from: settings.from,
      to: recipientsOf(ctx),
      envelope: { from: settings.from, to: [...to] },
      subject,
      ...(text === undefined ? {} : { text: withCrLf(text) }),
      ...(html === undefined ? {} : { html: withCrLf(html) }),
      ...(replyTo === undefined ? {} : { replyTo }),
      messageId: messageId(ctx, settings),
      headers: { "auto-submitted": "auto-generated" },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return outcomesOf(to, (sent as { rejectedErrors?: SmtpError[] }).rejectedErrors ?? []);
  } catch (error) {
    const { rejectedErrors } = error as SmtpError;
    // Every recipient was refused or deferred, each for its own reason.
    if (rejectedErrors && rejectedErrors.length > 0) return outcomesOf(to, rejectedErrors);
    throw asJobError(error as SmtpError);
  } finally {
    transport.close();
  }
}

type Opened = (error: Error | null, socket?: { connection: Socket }) => void;

/** Connects to the mail server. Cuts the connection when the attempt is stopped, whatever the server does. */
function openConnection(
  { host = "localhost", port, secure }: SMTPTransport.Options,
  signal: AbortSignal,
  done: Opened,
): void {
  const socket = connect({ host, port: Number(port) || (secure ? SMTPS_PORT : SUBMISSION_PORT), signal });
  const failed = (error: Error) => done(error);
  socket.once("error", failed);
  socket.setTimeout(CONNECT_MS, () => socket.destroy(Object.assign(new Error("no connection"), { code: "ETIMEDOUT" })));
  socket.once("connect", () => {
    socket.setTimeout(0);
    socket.off("error", failed);
    done(null, { connection: socket });
  });
}

function outcomesOf(to: readonly string[], rejected: readonly SmtpError[]): Outcome[] {
  const byAddress = new Map(rejected.map((error) => [error.recipient, error]));
  return to.map((address) => {
    const error = byAddress.get(address);
    if (!error) return { address, outcome: "accepted" };
    const outcome = (error.responseCode ?? 0) >= 500 ? "refused" : "deferred";
    return { address, outcome, answer: cutCharacters(error.response ?? "", SHOWN_ANSWER) };
  });
}

const domainOf = (from: string): string => /@([A-Za-z0-9.-]+)>?$/.exec(from)?.[1] ?? "localhost";

interface SmtpError extends Error {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly recipient?: string;
  readonly rejectedErrors?: readonly SmtpError[];
}

/**
 * Classifies a mail server's error: permanent for 5xx, temporary for other codes. Without a code, no server was
 * reached.
 */
function asJobError({ code = "", responseCode = 0, response = "" }: SmtpError): JobError {
  const answer = cutCharacters(response, SHOWN_ANSWER);
  if (responseCode >= 500) {
    const errorType: ErrorClass = code === "EAUTH" ? "authentication" : "invalid_input";
    return new NonRetryableError(`the mail server refused: ${answer}`, { errorType });
  }
  if (responseCode >= 400)
    return new JobError(`the mail server deferred the mail: ${answer}`, { errorType: "rate_limit" });
  return new JobError(`the connection to the mail server failed (${code || "unknown"})`, {
    errorType: "transient_network",
  });
}
