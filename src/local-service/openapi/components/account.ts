import { SCOPES } from "../../access/scopes.ts";
import { dollars, instant, listOf, object, oneOf, orNull, text, usd, whole } from "../schema.ts";

const scopes = listOf(oneOf(...SCOPES));
const kind = oneOf("personal", "service");
const key = { key_id: text, kind, name: orNull(text), scopes: orNull(scopes), workspace_id: text };

export const accountComponents = {
  Balance: object({ balance: dollars, currency: usd, spent: orNull(dollars) }),
  Usage: object({
    start: instant,
    end: instant,
    group_by: oneOf("total", "day", "model"),
    total_jobs: whole,
    total_spent: dollars,
    currency: usd,
    data: listOf(object({ key: text, jobs: whole, spent: dollars })),
  }),
  ApiKey: object({
    ...key,
    status: oneOf("active", "revoked", "expired"),
    created_at: instant,
    expires_at: orNull(instant),
    revoked_at: orNull(instant),
    last_used_at: orNull(instant),
  }),
  CreatedApiKey: object({
    ...key,
    credential: { ...text, description: "Shown this once." },
    created_at: instant,
    expires_at: orNull(instant),
  }),
  RotatedApiKey: object({
    ...key,
    credential: { ...text, description: "Shown this once." },
    expires_at: orNull(instant),
    previous_secret_expires_at: instant,
  }),
  Token: object({ token: text, expires_at: instant, scopes, workspace_id: text }),
};
