import type { DeliveryError } from "@/lib/contract/webhooks";

/** Why a delivery failed; `detail` contains no part of the URL. */
export interface Failed {
  readonly code: DeliveryError;
  readonly detail: string;
}

/** The phase that an exchange has reached. */
export type Phase = "connect" | "tls" | "response";

/** Matches the agent's error for an address that it refuses to connect to. */
const BLOCKED = /is not allowed\. Because/;
const RESET: readonly string[] = ["ECONNRESET", "EPIPE", "ECONNABORTED"];

/** Classifies an error of Node's HTTP client. */
export function failureOf(error: Error, phase: Phase): Failed {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (BLOCKED.test(error.message)) return { code: "blocked", detail: "the address may not be reached" };
  if (phase === "tls" || isTls(code)) return { code: "tls", detail: `TLS failed (${code || "unknown"})` };
  if (code === "ECONNREFUSED") return { code: "connect_refused", detail: "the connection was refused" };
  if (code === "ETIMEDOUT") {
    return { code: phase === "connect" ? "connect_timeout" : "response_timeout", detail: "the connection timed out" };
  }
  if (RESET.includes(code))
    return { code: "reset", detail: "the connection was closed before the answer was complete" };
  if (code.startsWith("HPE_")) return { code: "bad_response", detail: `the answer is not valid HTTP (${code})` };
  return { code: "network", detail: `the network failed (${code || "unknown"})` };
}

function isTls(code: string): boolean {
  return /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO)/.test(code);
}
