import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createClient } from "../../../src/core/api/index.ts";
import { described } from "../../../src/core/catalog/catalog.ts";
import { type CatalogModel, catalogOf, type JsonSchema, pullCatalog } from "../../../src/core/catalog/index.ts";
import { draft, pipeline } from "../../../src/core/define/index.ts";
import { greyPng, plainWav } from "../../../src/core/kit/placeholder-media.ts";
import { makePlan } from "../../../src/core/plan/index.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import { FILM } from "../../../src/local-service/start.ts";
import { ask, start, uploaded } from "../../local-service/support/service.ts";
import {
  breaking,
  fits,
  fulfilling,
  type Input,
  type LargeModel,
  largeCatalog,
  type MediaOf,
  requiredOnly,
  type Value,
} from "../../support/large-catalog/index.ts";

const catalog = largeCatalog();
const { entries, models, retired, unsupported } = catalog;

/** The models as the planner reads them from the service. */
const known = catalogOf(
  entries.map(({ id, modality, name, description, input_schema }): CatalogModel => {
    const words = { name: String(name), description: String(description), priceDescription: null, outputSchema: null };
    return described({ id, modality: String(modality), ...words, inputSchema: input_schema as JsonSchema });
  }),
);

async function service() {
  const local = await start({ catalog: entries, balance: 10_000 });
  const [image, audio, video] = await Promise.all(
    [greyPng(512), plainWav(6000), FILM.bytes].map((bytes) => uploaded(local, bytes)),
  );
  const media: MediaOf = (kind) => ({ image, audio, video })[kind] as unknown as Value;
  return { local, media };
}

test("is as large and as odd as a real one, and the same for the same seed", () => {
  const rows = models.flatMap((model) => model.rows);
  expect(models).toHaveLength(76);
  expect(models.filter((model) => model.rows.length > 0)).toHaveLength(37);
  expect(rows).toHaveLength(95);
  expect(rows.filter(({ omits }) => omits.length > 0)).toHaveLength(62);
  expect(rows.filter(({ accepts }) => Object.keys(accepts).length > 0)).toHaveLength(34);
  expect(largeCatalog().entries).toEqual(entries);
  expect(largeCatalog(2).entries).not.toEqual(entries);
});

test("is pulled in one piece, with tables, retired ids and their successors", async () => {
  const { local } = await service();
  const client = createClient({ baseUrl: local.baseUrl, apiKey: local.apiKey });
  const before = catalogOf([...known.models()].map((model) => ({ ...model, state: "live" as const })));
  const pulled = await pullCatalog(client, before);
  for (const { id } of models) {
    expect(pulled.model(id)?.inputSchema.description).toBe(known.model(id)!.inputSchema.description);
  }
  for (const [id, replacedBy] of Object.entries(retired)) {
    expect(pulled.model(id)).toMatchObject({ state: "retired", replacedBy });
  }
  for (const id of unsupported) expect(pulled.model(id)).toMatchObject({ state: "unsupported" });
  expect((await pullCatalog(client, null)).models()).toHaveLength(77);
  await client.close();
});

test("the service lists it, points to the successors of retired ids, and refuses what is to come", async () => {
  const { local } = await service();
  const listed = (await ask(local, "GET", "/models")).body.data.map(({ id }: { id: string }) => id);
  expect(listed).toEqual([...models.map(({ id }) => id), unsupported[0]]);
  for (const [id, successor] of Object.entries(retired)) {
    const { status, body } = await ask(local, "GET", `/models/${id}`);
    expect([status, body.error.code, body.error.replaced_by]).toEqual([410, "GONE", successor]);
  }
  for (const id of unsupported) {
    expect((await ask(local, "GET", `/models/${id}`)).body.error.code).toBe("FAILED_PRECONDITION");
  }
  // A level was a part of the id once.
  expect((await ask(local, "GET", "/models/kling-3-pro")).body.error.message).toContain("kling-3");
});

/** What the plan says of an input, by code and field. */
function planned(model: LargeModel, input: Input) {
  const one = pipeline("p", {
    input: z.unknown(),
    build: ({ job }) => ({ made: job("made", model.id, input as never) }),
  });
  const made = makePlan(draft(one, {}).draft!, { catalog: known, files: new Map() });
  return made.ok ? [] : made.problems;
}

async function estimated(local: LocalService, { id }: LargeModel, input: Input) {
  const { status, body } = await ask(local, "POST", `/models/${id}/estimate`, { body: { input } });
  if (status === 200) return [];
  expect([status, body.error.code]).toEqual([400, "INVALID_ARGUMENT"]);
  return body.error.details as readonly { readonly field: string; readonly reason: string }[];
}

const tabled = models.filter(({ rows }) => rows.length > 0);
const asset: MediaOf = () => ({ source: "asset", asset_id: "asset_00000000-0000-4000-8000-000000000000" });

describe("plan and service", () => {
  test("accept what fulfils a row, estimate and submit", async () => {
    const { local, media } = await service();
    let rows = 0;
    for (const model of tabled) {
      for (const row of model.rows) {
        const input = fulfilling(model, row, media);
        expect([model.id, row, planned(model, fulfilling(model, row, asset))]).toEqual([model.id, row, []]);
        expect([model.id, row, await estimated(local, model, input)]).toEqual([model.id, row, []]);
        expect((await ask(local, "POST", `/models/${model.id}`, { body: { input } })).status).toBe(202);
        rows += 1;
      }
    }
    expect(rows).toBe(95);
  });

  test("refuse what fits the schema and no row, and name a field that a row is broken by", async () => {
    const { local, media } = await service();
    let refused = 0;
    for (const model of tabled) {
      const inService = breaking(model, media);
      for (const [index, input] of breaking(model, asset).entries()) {
        const [problem, ...others] = planned(model, input);
        expect([model.id, input, problem?.code, others]).toEqual([
          model.id,
          input,
          expect.stringMatching(/^combination-(table|by-default)$/),
          [],
        ]);
        const details = await estimated(local, model, inService[index]!);
        expect(details.map(({ reason }) => reason)).toContain("combination");
        expect(details.map(({ field }) => field)).toContain(problem!.field);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThanOrEqual(170);
  });

  test("take the required fields alone, or name the row that they break", async () => {
    const { local, media } = await service();
    let broken = 0;
    for (const model of models) {
      const input = requiredOnly(model, asset);
      const isFine = model.rows.length === 0 || model.rows.some((row) => fits(model, row, input));
      const problems = planned(model, input);
      expect([model.id, problems.length]).toEqual([model.id, isFine ? 0 : 1]);
      if (!isFine) expect(problems[0]!.message).toMatch(/nearest: \(\d+\) needs /);
      expect((await estimated(local, model, requiredOnly(model, media))).length > 0).toBe(!isFine);
      broken += isFine ? 0 : 1;
    }
    expect(broken).toBeGreaterThanOrEqual(12);
  });
});
