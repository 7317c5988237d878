import { createWebhookHandler } from "showrunner/client";
import { showrunner } from "../../../../lib/showrunner.ts";

export const runtime = "nodejs";

let handler: ((request: Request) => Promise<Response>) | null = null;

/** `POST /api/hooks/media`: where the service's webhooks go. Each is checked by its signature, and wakes the run it is for. */
export async function POST(request: Request): Promise<Response> {
  const { client } = await showrunner();
  handler ??= createWebhookHandler({ client });
  return handler(request);
}
