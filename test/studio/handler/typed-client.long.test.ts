/** A client that another's generator makes of a handler's document: it compiles, and goes from a price to a picked output. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { folder, install } from "../../local-service/support/generators.ts";
import { isComplete } from "../../support/absence.ts";
import { localShow } from "../../support/local-show.ts";
import { serve } from "./support/served.ts";

const TIMEOUT_MS = 240_000;
const own = join(folder, "handler");
const world = localShow();
const run = promisify(execFile);
const program = (path: string, ...args: readonly string[]) => run(process.execPath, [path, ...args], { cwd: folder });

let absent: string | null = null;
beforeAll(async () => {
  mkdirSync(join(folder, "generated"), { recursive: true });
  absent = await install(own);
  if (absent !== null && isComplete) throw new Error(absent);
}, TIMEOUT_MS);

interface Client {
  run(fetch: (request: Request) => Promise<Response>, settled: (id: string) => Promise<void>): Promise<unknown>;
}

test(
  "the served document makes a typed client that prices, starts, decides and reads a run",
  async (context) => {
    if (absent !== null) return context.skip(absent);
    const { send, handler } = serve(world.show, join(world.folder, "sent"));
    const [document, types] = ["handler-api.json", "handler-api.d.ts"].map((name) => join(folder, "generated", name));
    writeFileSync(document!, await (await send("/api/openapi.json")).text());
    const generator = join(own, "node_modules/openapi-typescript/bin/cli.js");
    await program(generator, document!, "--default-non-nullable", "false", "-o", types!);
    const tsc = join(folder, "../../../node_modules/typescript/bin/tsc");
    const problems = await program(tsc, "-p", own).then(
      () => "",
      (error: { readonly stdout?: string }) => error.stdout || String(error),
    );
    expect(problems).toBe("");
    const client = (await import(/* @vite-ignore */ join(own, "client.ts"))) as Client;
    const found = await client.run(
      (request) => {
        request.headers.set("Authorization", "Bearer acme");
        return handler(request);
      },
      async (id) => void (await (await world.show.follow(id)).result()),
    );
    expect(found).toEqual({
      ...{ expected: "0.04", started: ["typed", "typed"], isSame: true, listed: ["typed"], waiting: ["look/pick"] },
      ...{ ended: "succeeded", spent: "0.04", refused: [404, "NOT_FOUND"] },
    });
  },
  TIMEOUT_MS,
);
