import type { LocalService } from "../../../src/local-service/index.ts";
import { ask, get, key, submit } from "./service.ts";

/** Credentials that must fail, by kind, and credentials for other places. */
export interface Credentials {
  /** Credentials that are refused with 401 for all requests. */
  readonly dead: Readonly<Record<string, string | null>>;
  /** Credentials that are refused with 403 for all requests. */
  readonly barred: Readonly<Record<string, string>>;
  /** Credentials with all scopes for another workspace or owner. */
  readonly elsewhere: Readonly<Record<"workspace" | "owner", string>>;
}

/** Rotates a key. Returns the new secret, and the old secret, which is valid until its grace period ends. */
export async function rotated(service: LocalService, place: object, graceSeconds: number) {
  const old = await key(service, place);
  const body = { grace_period_seconds: graceSeconds };
  const reply = await ask(service, "POST", `/keys/${idOf(old)}/rotate`, { body });
  return { old, current: reply.body.credential as string };
}

export const idOf = (credential: string): string => credential.split(":")[0] ?? "";

export async function tokenOf(service: LocalService, credential: string, body: object = {}): Promise<string> {
  return (await ask(service, "POST", "/tokens", { credential, body })).body.token;
}

/** Creates a credential of each kind that must fail. Sets the clock to manual and advances it by an hour. */
export async function deadCredentials(service: LocalService): Promise<Credentials> {
  service.clock.manual();
  const soon = new Date(service.clock.now() + 1000).toISOString();
  const revoked = await key(service, {});
  const expired = (await ask(service, "POST", "/keys", { body: { expires_at: soon } })).body.credential;
  const { old: outOfGrace } = await rotated(service, {}, 1);
  const left = await key(service, { owner_id: "left" });
  const tokens = {
    "token that expired": await tokenOf(service, service.apiKey, { ttl_seconds: 1 }),
    "token of a revoked key": await tokenOf(service, revoked),
    "token of an expired key": await tokenOf(service, expired),
    "token of a secret out of grace": await tokenOf(service, outOfGrace),
  };
  const barredToken = await tokenOf(service, left);
  await ask(service, "DELETE", `/keys/${idOf(revoked)}`);
  await ask(service, "POST", "/_local/members", { body: { owner_id: "left", left: true } });
  await service.clock.advance(60_000);
  return {
    dead: {
      none: null,
      unknown: "key_unknown:secret",
      "wrong secret": `${service.apiKey}x`,
      "unknown token": "tok_unknown",
      revoked,
      expired,
      "rotated out, after its grace": outOfGrace,
      ...tokens,
    },
    barred: { "owner left": left, "token of an owner who left": barredToken },
    elsewhere: {
      workspace: await key(service, { workspace_id: "elsewhere" }),
      owner: await key(service, { owner_id: "somebody" }),
    },
  };
}

/** Creates a finished job, a key and a drain of the first owner, for use in paths. */
export async function plantThings(service: LocalService): Promise<Readonly<Record<string, string>>> {
  const job = await submit(service, "image-1", { prompt: "mine" });
  await get(service, `/jobs/${job.job_id}/stream`);
  const drain = { name: "mine", url: "http://127.0.0.1:9/", format: "otlp", enabled: false };
  const made = await ask(service, "POST", "/log-drains", { body: drain });
  const target = await key(service, {});
  return { job_id: job.job_id, drain_id: made.body.id, key_id: idOf(target), model: "image-1" };
}
