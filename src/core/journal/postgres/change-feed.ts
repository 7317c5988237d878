import { createHash } from "node:crypto";
import type { Client } from "pg";
import { RunUnknownError } from "../errors.ts";
import { Waiters } from "../waiters.ts";
import { type Database, isPooled } from "./database.ts";
import { notDurable } from "./leases.ts";

const TELL_EVERY_MS = 50;

/** Wakes calls that wait for changes to a run. If notifications fail, polling finds the changes. */
export class ChangeFeed {
  readonly channel: string;
  readonly #db: Database;
  readonly #waiters = new Waiters();
  readonly #listener: Listener;
  readonly #lastSeqs = new Map<string, number | null>();
  #poll: NodeJS.Timeout | null = null;
  #looking = false;
  #recheck = false;
  #untold = new Set<string>();
  #telling: NodeJS.Timeout | null = null;

  constructor(db: Database) {
    this.#db = db;
    this.channel = `showrunner_${createHash("sha256").update(db.settings.schema).digest("hex").slice(0, 16)}`;
    this.#listener = new Listener(db, this.channel, (runId) => {
      if (runId === null || this.#lastSeqs.has(runId)) this.#look();
    });
  }

  changed(runId: string, lastSeq: number | null): void {
    this.#learn(runId, lastSeq);
    this.#untold.add(runId);
    this.#telling ??= setTimeout(() => this.#tell(), TELL_EVERY_MS).unref();
  }

  async wait(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const ready = () => {
      const lastSeq = this.#lastSeqs.get(runId);
      if (lastSeq === null) throw new RunUnknownError(runId, this.#db.place);
      return lastSeq !== undefined && lastSeq > afterSeq;
    };
    // Register before the query, so that no notification is missed.
    this.#lastSeqs.set(runId, this.#lastSeqs.get(runId) ?? 0);
    const waiting = this.#waiters.wait(runId, ready, signal);
    this.#listener.start();
    this.#poll ??= setInterval(() => this.#look(), this.#db.settings.pollIntervalMs);
    this.#look();
    await waiting.finally(() => this.#rest());
  }

  /**
   * Closes the feed and rejects the waiting calls. Pending notifications are not sent; other processes find the changes
   * by polling.
   */
  async close(error: unknown): Promise<void> {
    this.#waiters.failAll(error);
    this.#rest();
    if (this.#telling !== null) clearTimeout(this.#telling);
    await this.#listener.stop();
  }

  #rest(): void {
    if (this.#waiters.size > 0 || this.#poll === null) return;
    clearInterval(this.#poll);
    this.#poll = null;
    this.#lastSeqs.clear();
  }

  #learn(runId: string, lastSeq: number | null): void {
    if (!this.#lastSeqs.has(runId)) return;
    const known = this.#lastSeqs.get(runId) ?? 0;
    this.#lastSeqs.set(runId, lastSeq === null ? null : Math.max(known, lastSeq));
    this.#waiters.notify(runId);
  }

  #look(): void {
    this.#recheck = true;
    if (!this.#looking) void this.#lookWhileNeeded();
  }

  async #lookWhileNeeded(): Promise<void> {
    this.#looking = true;
    while (this.#recheck && this.#waiters.size > 0) {
      this.#recheck = false;
      const runIds = [...this.#lastSeqs.keys()];
      try {
        const rows = await this.#db.query("SELECT run_id, last_seq FROM {s}.runs WHERE run_id = ANY ($1)", [runIds]);
        const found = new Map(rows.map((row) => [row.run_id, row.last_seq as number]));
        for (const runId of runIds) this.#learn(runId, found.get(runId) ?? null);
      } catch {
        break;
      }
    }
    this.#looking = false;
  }

  #tell(): void {
    this.#telling = null;
    const runIds = [...this.#untold];
    this.#untold = new Set();
    const sql = `SELECT ${notDurable}, pg_notify($1, left(run, 2000)) FROM unnest($2::text[]) run`;
    // Ignore a failure, because other processes also poll.
    this.#db.query(sql, [this.channel, runIds]).catch(() => {});
  }
}

const firstDelayMs = 200;
const longestDelayMs = 10_000;

/**
 * Receives notifications on a dedicated connection, because a connection pooler could deliver them to another client.
 */
class Listener {
  readonly #db: Database;
  readonly #channel: string;
  /** Called with the id of a changed run, or with null if any run may have changed. */
  readonly #heard: (runId: string | null) => void;
  #state: "off" | "on" | "stopped" = "off";
  #client: Client | null = null;
  #retry: NodeJS.Timeout | null = null;
  #delayMs = firstDelayMs;

  constructor(db: Database, channel: string, heard: (runId: string | null) => void) {
    this.#db = db;
    this.#channel = channel;
    this.#heard = heard;
  }

  start(): void {
    if (this.#state !== "off") return;
    this.#state = "on";
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const client = this.#db.newClient();
    this.#client = client;
    let broken = false;
    const broke = () => {
      if (broken) return;
      broken = true;
      client.end().catch(() => {});
      this.#again();
    };
    client.on("error", broke).on("end", broke);
    client.on("notification", ({ payload }) => this.#heard(payload ?? null));
    try {
      await client.connect();
      if (await isPooled(client)) {
        broken = true;
        await client.end();
        return;
      }
      await client.query(`LISTEN "${this.#channel}"`);
      this.#delayMs = firstDelayMs;
      // Notifications may have been missed while disconnected.
      this.#heard(null);
    } catch {
      broke();
    }
  }

  #again(): void {
    if (this.#state !== "on") return;
    this.#retry = setTimeout(() => void this.#connect(), this.#delayMs).unref();
    this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs);
  }
}
