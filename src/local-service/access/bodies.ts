import { z } from "zod";
import { SCOPES } from "./scopes.ts";

const scopes = z.array(z.enum(SCOPES)).max(SCOPES.length).nullish();
const DAY_SECONDS = 86_400;

/** Lifetime of a token: an hour by default, a day at most. */
export const TOKEN_TTL_SECONDS = { default: 3_600, max: DAY_SECONDS } as const;
/** Grace period of a rotated-out secret: a day by default, 30 days at most. */
export const GRACE_SECONDS = { default: DAY_SECONDS, max: 30 * DAY_SECONDS } as const;

/** `POST /keys` */
export const newKeyBody = z.object({
  name: z.string().min(1).max(100).nullish(),
  scopes,
  kind: z.enum(["personal", "service"]).nullish(),
  workspace_id: z.string().max(100).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

/** `POST /keys/{key_id}/rotate` */
export const rotateBody = z.object({
  grace_period_seconds: z.int().min(0).max(GRACE_SECONDS.max).nullish(),
});

/** `POST /tokens` */
export const newTokenBody = z.object({
  ttl_seconds: z.int().min(1).max(TOKEN_TTL_SECONDS.max).nullish(),
  scopes,
});
