import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatUsd } from "../../../src/core/kit/money.ts";
import { openShowrunner } from "../../../src/index.ts";
import { AGENT_TAG, AgentSession } from "../../../src/studio/mcp/index.ts";
import { committedMicros } from "../../../src/studio/served/index.ts";
import { localShow } from "../../support/local-show.ts";
import { isFull } from "../../support/sample.ts";
import { picked, quoteOf, serve, still } from "../handler/support/served.ts";

const world = localShow();
const pipelines = { still, picked };
type At = keyof typeof pipelines;

/** One server of several that keep one budget. */
interface Door {
  /** Starts a run, or repeats it; its id, null where it was refused. */
  start(at: At, key: string): Promise<string | null>;
  /** Picks one of two takes, where that is asked. */
  decide(runId: string, pick: number): Promise<void>;
}

interface Doors extends AsyncDisposable {
  readonly doors: readonly [Door, Door];
  committed(): Promise<number>;
}

let opened = 0;

async function handlers(budgetMicros: number): Promise<Doors> {
  opened += 1;
  const as = `spender-${opened}`;
  const authorize = () => ({ tags: { customer: as }, budget: formatUsd(budgetMicros) });
  const servers = [0, 1].map(() => serve(world.show, join(world.folder, "sent"), { authorize }));
  const doors = servers.map(
    ({ post }): Door => ({
      async start(at, key) {
        const headers = { "Idempotency-Key": key };
        const input = { prompt: `${as} ${key}` };
        const { id: quote } = await quoteOf(await post(`/api/${at}/quote`, { input }, { as }));
        const response = await post(`/api/${at}/runs`, { input, quote }, { as, headers });
        if (response.ok) return ((await response.json()) as { readonly id: string }).id;
        expect([402, 409, 422]).toContain(response.status);
        return null;
      },
      async decide(id, pick) {
        const decision = { step: "look/pick", approve: true, pick };
        const { status } = await post(`/api/runs/${id}/decisions`, decision, { as });
        expect([200, 400, 402, 409]).toContain(status);
      },
    }),
  );
  return {
    doors: doors as unknown as Doors["doors"],
    committed: () => committedMicros(world.show, `customer=${as}`),
    [Symbol.asyncDispose]: async () => expect(servers.flatMap(({ defects }) => defects)).toEqual([]),
  };
}

/** Two servers for agents, each a process of its own, on a journal in which agents have spent before. */
async function sessions(budgetMicros: number): Promise<Doors> {
  opened += 1;
  const prefix = `a${opened}`;
  const { journal } = world.show;
  const { baseUrl, apiKey } = world.service;
  const beforeMicros = await committedMicros(world.show, AGENT_TAG);
  const mediaDir = join(world.folder, "media");
  const caps = [`${AGENT_TAG}:${formatUsd(beforeMicros + budgetMicros)}`];
  const shows = await Promise.all([0, 1].map(() => openShowrunner({ baseUrl, apiKey, journal, mediaDir, caps })));
  const opens = shows.map((show) => {
    return new AgentSession({
      ...{ show, journal, filesDir: world.folder, budgetMicros, beforeMicros, runBudgetMicros: null },
      pipelines: Object.entries(pipelines).map(([name, pipeline]) => {
        return { name, pipeline, source: { file: join(world.folder, "none.ts"), exportName: name } };
      }),
      ...{ allowApprove: true, mayAsk: false, launcher: "showrunner", log: () => {} },
    });
  });
  const doors = opens.map(
    (session): Door => ({
      async start(at, key) {
        const input = { prompt: `${prefix} ${key}` };
        const { id: agreed } = await session.quote(at, input, { keep: true });
        return session.start(at, `${prefix}-${key}`, input, { agreed: agreed! }).catch((error: Error) => {
          expect(error.message).toMatch(/this server's budget has only|exists with a different plan|is driven by/);
          return null;
        });
      },
      async decide(id, pick) {
        const waits = await session.waiting(id).catch(() => []);
        for (const one of waits) await session.decide(one, { decision: "approve", pick: pick + 1 }).catch(() => {});
      },
    }),
  );
  return {
    doors: doors as unknown as Doors["doors"],
    committed: async () => (await committedMicros(world.show, AGENT_TAG)) - beforeMicros,
    async [Symbol.asyncDispose]() {
      for (const session of opens) await session.idle();
      for (const show of shows) await show.close();
    },
  };
}

const call = fc.record({
  key: fc.constantFrom("a", "b", "c", "d"),
  at: fc.constantFrom<At>("still", "picked"),
  server: fc.constantFrom<0 | 1>(0, 1),
  pick: fc.nat(1),
});

test.each([
  ["the handler", handlers],
  ["the server for agents", sessions],
])(
  "starts, decisions and repeats, many at once and by two of %s, stay within one budget",
  async (_, open) => {
    let spentMost = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 4, maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        async (calls, cents) => {
          await using all = await open(cents * 10_000);
          const ids = new Set<string>();
          await Promise.all(
            calls.map(async ({ key, at, server, pick }) => {
              const id = await all.doors[server].start(at, key);
              if (id === null) return;
              ids.add(id);
              await all.doors[server].decide(id, pick);
            }),
          );
          for (const id of ids) await world.show.follow(id).then((handle) => handle.result());
          for (const id of ids) await all.doors[1].decide(id, 0);
          for (const id of ids) await world.show.follow(id).then((handle) => handle.result());
          const committed = await all.committed();
          expect(committed).toBeLessThanOrEqual(cents * 10_000);
          spentMost = Math.max(spentMost, committed);
        },
      ),
      { numRuns: isFull ? 100 : 3 },
    );
    // Or nothing was ever bought, and every bound holds.
    expect(spentMost).toBeGreaterThan(40_000);
  },
  120_000,
);
