import { z } from "zod";

/** A registered folder of the tenant, and optionally a folder in it; "" and "/" mean the whole folder. */
export const folderPayload = z.strictObject({
  provider_id: z.guid().describe("The registered folder"),
  path_prefix: z.string().max(4096).optional().describe("Only entries below this folder"),
});
