import { z } from "zod";
import { httpUrl } from "../outbound/http-url.ts";

/** `PUT /webhooks/default` */
export const defaultWebhookBody = z.object({ url: httpUrl, enabled: z.boolean().nullish() });
