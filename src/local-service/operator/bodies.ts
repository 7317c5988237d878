import { z } from "zod";
import { SCOPES } from "../access/scopes.ts";

const name = z.string().min(1).max(100);

/** `POST /_local/wallet` */
export const walletBody = z.strictObject({
  workspace_id: name.optional(),
  /** Dollars to add. */
  add: z.number().min(0).max(1e9).optional(),
  /** Makes the next 402 say that the card for top-ups was declined. */
  card_declined: z.boolean().optional(),
});

/** `POST /_local/keys` */
export const keyBody = z.strictObject({
  workspace_id: name.optional(),
  owner_id: name.optional(),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).nullish(),
  key_id: name.optional(),
  secret: z.string().min(8).max(200).optional(),
});

/** `POST /_local/members` */
export const memberBody = z.strictObject({
  workspace_id: name.optional(),
  owner_id: name.optional(),
  /** True when the owner left the workspace, false when it is back. */
  left: z.boolean(),
});

/** `POST /_local/clock` */
export const clockBody = z.strictObject({
  mode: z.enum(["real", "scaled", "manual"]).optional(),
  factor: z.number().positive().max(1e6).optional(),
  advance_ms: z.number().min(0).max(1e12).optional(),
});
