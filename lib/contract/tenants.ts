import * as z from "zod";
import { id, instant } from "./common";

export const tenant = z.object({
  id,
  slug: z.string(),
  name: z.string(),
  status: z.string(),
  weight: z.number(),
  created_at: instant,
});
export type Tenant = z.infer<typeof tenant>;
export const tenantList = z.object({ data: z.array(tenant) });

/** Body of PATCH /api/v1/admin/tenants/{tenantId}. */
export const updateTenant = z.strictObject({ weight: z.number().min(0.01).max(1000) });
export const tenantParams = z.strictObject({ tenantId: id });
