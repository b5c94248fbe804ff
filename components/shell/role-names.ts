import type { EffectiveRole } from "@/lib/contract";

export const ROLE_NAMES: Readonly<Record<EffectiveRole, string>> = {
  super_admin: "Super admin",
  admin: "Admin",
  member: "Member",
  viewer: "Viewer",
};
