import { randomUUID } from "node:crypto";
import { parseBody } from "../http/body.ts";
import { type Answer, type Call, created, type Endpoint, endpoint, newestFirst, noContent, ok } from "../http/call.ts";
import { invalid, notFound, problem, refuse } from "../http/refusal.ts";
import { instant, instantOrNull } from "../jobs/views.ts";
import { failureOf, testResult } from "../outbound/outbound.ts";
import {
  type DrainChanges,
  drainChanges,
  type NewDrainBody,
  newDrainBody,
  SECRET_REQUIRED,
} from "../request-bodies.ts";
import type { ServiceParts } from "../service-parts.ts";
import { drainMessage } from "./message.ts";
import { type DrainEventRow, type DrainRow, type DrainTables, newDrain, switched } from "./tables.ts";

function drainView(row: DrainRow) {
  return {
    id: row.drainId,
    name: row.name,
    url: row.url,
    format: row.format,
    header_names: Object.keys(JSON.parse(row.headers) as object),
    enabled: row.enabled === 1,
    batch_size: row.batchSize,
    consecutive_failures: row.consecutiveFailures,
    last_success_at: instantOrNull(row.lastSuccessAt),
    last_failure_at: instantOrNull(row.lastFailureAt),
    last_failure_status: row.lastFailureStatus,
    last_error: row.lastError === null ? null : failureOf(row.lastError),
    disabled_reason: row.disabledReason,
    created_at: instant(row.createdAt),
    updated_at: instant(row.updatedAt),
    updated_by_key_id: row.updatedByKeyId,
  };
}

const MAX_DRAINS = 50;
const DEFAULT_BATCH_SIZE = 1000;

interface DrainRegister {
  changed(drain: DrainRow): void;
  /** Called inside the transaction that removes the drain. */
  removed(drain: DrainRow): void;
}

function sampleEvent(drain: DrainRow, now: number): DrainEventRow {
  const job = { workspaceId: drain.workspaceId, jobId: `job_${randomUUID()}`, model: "test" };
  const test = { level: "info", event: "test", message: "This event tests the log drain.", source: "api" } as const;
  return { seq: now, ...job, at: now, ...test, data: "{}" };
}

function changed(drain: DrainRow, body: DrainChanges, keyId: string, now: number): DrainRow {
  const next: DrainRow = {
    ...drain,
    name: body.name ?? drain.name,
    url: body.url ?? drain.url,
    format: body.format ?? drain.format,
    secret: body.secret ?? drain.secret,
    headers: body.headers ? JSON.stringify(body.headers) : drain.headers,
    batchSize: body.batch_size ?? drain.batchSize,
    updatedAt: now,
    updatedByKeyId: keyId,
  };
  return typeof body.enabled === "boolean" ? switched(next, body.enabled) : next;
}

export function drainEndpoints(ports: ServiceParts, tables: DrainTables, register: DrainRegister): readonly Endpoint[] {
  const { store, clock, outbound, options } = ports;

  function find(call: Call): DrainRow {
    const drain = tables.byId(call.principal.workspaceId, call.param("drain_id"));
    if (drain) return drain;
    throw notFound("This workspace has no such log drain.");
  }

  function insert(body: NewDrainBody, { workspaceId, keyId }: Call["principal"]): DrainRow {
    if (tables.ofWorkspace(workspaceId).length >= MAX_DRAINS) {
      throw refuse("FAILED_PRECONDITION", `A workspace can have at most ${MAX_DRAINS} log drains.`);
    }
    const now = clock.now();
    const row = {
      drainId: `drain_${randomUUID()}`,
      workspaceId,
      createdAt: now,
      name: body.name,
      url: body.url,
      format: body.format ?? "ndjson",
      secret: body.secret ?? null,
      headers: JSON.stringify(body.headers ?? {}),
      batchSize: body.batch_size ?? DEFAULT_BATCH_SIZE,
      updatedAt: now,
      updatedByKeyId: keyId,
      ...newDrain(body.enabled ?? true, tables.present()),
    };
    return { ...row, seq: tables.insert(row) };
  }

  async function make(call: Call): Promise<Answer> {
    const body = parseBody(newDrainBody, await call.json());
    return created(drainView(await store.write(() => insert(body, call.principal))));
  }

  function update(call: Call, body: DrainChanges): DrainRow {
    const drain = changed(find(call), body, call.principal.keyId, clock.now());
    if (drain.format === "ndjson" && drain.secret === null) {
      throw invalid([problem("secret", SECRET_REQUIRED, "required")]);
    }
    tables.update(drain);
    return drain;
  }

  async function change(call: Call): Promise<Answer> {
    const body = parseBody(drainChanges, await call.json());
    const drain = await store.write(() => update(call, body));
    register.changed(drain);
    return ok(drainView(drain));
  }

  async function remove(call: Call): Promise<Answer> {
    await store.write(() => {
      const drain = find(call);
      tables.remove(drain.seq);
      register.removed(drain);
    });
    return noContent;
  }

  async function test(call: Call): Promise<Answer> {
    const drain = find(call);
    const message = drainMessage(drain, [sampleEvent(drain, clock.now())], options.brand);
    return ok(testResult(await outbound.post(drain.url, message)));
  }

  const list = (call: Call) =>
    newestFirst(call, (before, count) => tables.page(call.principal.workspaceId, before, count), drainView);

  const access = "log_drains:manage";
  const path = "/log-drains/{drain_id}";
  return [
    endpoint("GET", "/log-drains", access, "The workspace's log drains", list),
    endpoint("POST", "/log-drains", access, "Create a log drain", make),
    endpoint("GET", path, access, "A log drain", (call) => ok(drainView(find(call)))),
    endpoint("PATCH", path, access, "Change a log drain", change),
    endpoint("DELETE", path, access, "Remove a log drain", remove),
    endpoint("POST", `${path}/test`, access, "Post a test event", test),
  ];
}
