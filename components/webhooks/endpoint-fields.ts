import type { CreateWebhook, WebhookEndpoint } from "@/lib/contract";

/** The form as it is typed. */
export interface Fields {
  readonly url: string;
  readonly description: string;
  /** Names with commas between them. */
  readonly types: string;
  /** `Name: value` lines. */
  readonly headers: string;
}

/** The form of an endpoint; values of headers are not known here. */
export const fieldsOf = (endpoint: WebhookEndpoint | undefined): Fields => ({
  url: endpoint?.url ?? "",
  description: endpoint?.description ?? "",
  types: endpoint?.event_types?.join(", ") ?? "",
  headers: "",
});

/** What is wrong with the header lines before anyone is asked, or null. */
export function headerLinesFault(text: string): string | null {
  const odd = linesOf(text).find((line) => !/^[^:\s]+:\s*\S/.test(line));
  return odd === undefined ? null : `“${odd.slice(0, 40)}” is not of the form Name: value`;
}

/** The request of a form. An URL that did not change is not sent, so that nobody is asked about it again. */
export function bodyOf({ url, description, types, headers }: Fields, endpoint?: WebhookEndpoint): CreateWebhook {
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
