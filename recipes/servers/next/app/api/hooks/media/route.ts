import { createWebhookHandler } from "showrunner/client";
import { showrunner } from "../../../../lib/showrunner.ts";

export const runtime = "nodejs";

let handler: ((request: Request) => Promise<Response>) | null = null;

/** `POST /api/hooks/media`: receives the service's webhooks. Verifies each signature and wakes the run concerned. */
export async function POST(request: Request): Promise<Response> {
  const { client } = await showrunner();
  handler ??= createWebhookHandler({ client });
  return handler(request);
}
