import { z } from "zod";
import { readEnv, type Source } from "./read";

const ADDRESS = /^[^\s@<>(),;:\\"[\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/;

/** Settings for sending e-mail; both or neither. */
export const mailFields = {
  SMTP_URL: z
    .string()
    .refine((text) => URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol) && new URL(text).hostname !== "", {
      message: "must be an smtp:// or smtps:// URL (special characters of the password percent-encoded)",
    })
    .optional(),
  MAIL_FROM: z
    .string()
    .refine((text) => ADDRESS.test(/^[^<>"\r\n]{0,200}<([^<>]*)>$/.exec(text)?.[1] ?? text), {
      message: "must be an address, alone or as Name <address>",
    })
    .optional(),
};

export interface MailSettings {
  readonly smtpUrl: string;
  readonly from: string;
}

/** Returns the mail settings, or null when e-mail is not configured. @throws EnvironmentError with every problem */
export function loadMailEnv(source?: Source): MailSettings | null {
  const { SMTP_URL, MAIL_FROM } = readEnv(z.object(mailFields), source);
  return SMTP_URL === undefined || MAIL_FROM === undefined ? null : { smtpUrl: SMTP_URL, from: MAIL_FROM };
}
