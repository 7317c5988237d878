import type { Client } from "pg";
import { type Database, isPooled } from "./database.ts";

const firstDelayMs = 200;
const longestDelayMs = 10_000;

/**
 * A connection of its own that hears what others notify, from the first call of `start` on. It is made again when it breaks.
 * Behind a pooler there is none: notifications would go to whoever has the server's connection just then.
 */
export class Listener {
  readonly #db: Database;
  readonly #channel: string;
  /** A run that somebody changed; null: any may have been changed. */
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
      // What was notified while nobody listened.
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
