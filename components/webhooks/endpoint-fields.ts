import type { CreateWebhook, WebhookEndpoint } from "@/lib/contract";

/** The form's fields as typed. */
export interface Fields {
  readonly url: string;
  readonly description: string;
  /** Comma-separated names. */
  readonly types: string;
  /** `Name: value` lines. */
  readonly headers: string;
}

/** Returns the form of an endpoint; header values are unknown here. */
export const endpointFieldsOf = (endpoint: WebhookEndpoint | undefined): Fields => ({
  url: endpoint?.url ?? "",
  description: endpoint?.description ?? "",
  types: endpoint?.event_types?.join(", ") ?? "",
  headers: "",
});

/** Returns what is wrong with the header lines, without a request; null if nothing. */
export function headerLinesFault(text: string): string | null {
  const odd = linesOf(text).find((line) => !/^[^:\s]+:\s*\S/.test(line));
  return odd === undefined ? null : `“${odd.slice(0, 40)}” does not have the form Name: value`;
}

/** Returns the request of a form. An unchanged URL is not sent, so that its name server is not queried again. */
export function endpointBodyOf(
  { url, description, types, headers }: Fields,
  endpoint?: WebhookEndpoint,
): CreateWebhook {
  const names = types.split(",").flatMap((name) => name.trim() || []);
  const pairs = linesOf(headers).map((line) => {
    const at = line.indexOf(":");
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
  });
  return {
    ...(endpoint?.url === url.trim() ? {} : { url: url.trim() }),
    description,
    event_types: names.length > 0 ? names : null,
    ...(pairs.length > 0 ? { headers: Object.fromEntries(pairs) } : {}),
  } as CreateWebhook;
}

const linesOf = (text: string): string[] => text.split("\n").flatMap((line) => line.trim() || []);
