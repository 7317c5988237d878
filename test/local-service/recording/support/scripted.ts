import { rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startLocalService } from "../../../../src/local-service/index.ts";
import { startRecorder } from "../../../../src/local-service/recording/index.ts";
import { fastFolder } from "../../../../src/testing/surroundings.ts";

export type Script = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** The response to a request. `isCut`: true if the connection broke before its end. */
export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly isCut: boolean;
}

export type Ask = (path: string, body?: unknown) => Promise<Got>;

/** Starts recorders, replays and scripted services, which run until `end`. */
export class Bench {
  readonly #ends: (() => unknown)[] = [];

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  later(end: () => unknown): void {
    this.#ends.push(end);
  }

  async folder(): Promise<string> {
    const folder = await fastFolder("recording-");
    this.later(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  /** Starts a service that responds according to a script, and returns its v3 address. */
  async service(script: Script): Promise<string> {
    const server = createServer((incoming, outgoing) => {
      incoming.resume().once("end", () => script(incoming, outgoing));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.later(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3`;
  }

  /** Records the requests to a service. */
  async record(folder: string, baseUrl: string, use: (ask: Ask, baseUrl: string) => Promise<unknown>): Promise<void> {
    const recorder = await startRecorder({ folder, baseUrl, port: 0, keepMedia: false, say: () => {} });
    try {
      await use(asker(recorder.baseUrl, "k:recorded-0123456789"), recorder.baseUrl);
    } finally {
      await recorder.close();
    }
  }

  async replay(folder: string, speed: "fast" | "real" = "fast") {
    const service = await startLocalService({ renderer: "stub", replay: { folder, speed } });
    this.later(() => service.close());
    return { service, ask: asker(service.baseUrl, service.apiKey) };
  }
}

export function asker(baseUrl: string, key: string): Ask {
  return async (path, body) => {
    const headers = { authorization: `Key ${key}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(baseUrl + path, { headers, ...sent });
    let text = "";
    let isCut = false;
    try {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString("utf8");
    } catch {
      isCut = true;
    }
    return { status: answer.status, headers: answer.headers, text, isCut };
  };
}

/** Sends a JSON response. */
export function answer(outgoing: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  outgoing.writeHead(status, { "content-type": "application/json", ...headers });
  outgoing.end(JSON.stringify(body));
}
