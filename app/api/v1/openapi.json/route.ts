import { openApiDocument } from "@/lib/api/openapi";
import { guarded } from "@/lib/api/serve";
import { DOCUMENTED_ROUTES } from "./documented-routes";

export const dynamic = "force-dynamic";

let text: string | undefined;

export const GET = guarded(
  async () => {
    text ??= JSON.stringify(openApiDocument(DOCUMENTED_ROUTES, "1"));
    return new Response(text, {
      headers: { "content-type": "application/json", "cache-control": "public, max-age=300" },
    });
  },
  { access: "open", summary: "This description of the API" },
);
