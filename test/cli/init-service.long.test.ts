import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { filesOf, listRecipes } from "../../src/cli/commands/init.ts";
import { runCli } from "../../src/cli/program.ts";
import { castFrom, chooseStarter, LOCAL_STARTER, starterSource } from "../../src/cli/project/choose-models.ts";
import { type Catalog, pullCatalog } from "../../src/core/catalog/index.ts";
import { createMemoryJournal, model, openShowrunner, pipeline, type Showrunner } from "../../src/index.ts";
import { type LocalServiceOptions, startLocalService } from "../../src/local-service/index.ts";
import { largeCatalog } from "../support/large-catalog/index.ts";
import { sampled } from "../support/sample.ts";
import { emptyFolder } from "./support/cli.ts";
import { fakeIo } from "./support/fake-io.ts";

afterEach(() => vi.unstubAllEnvs());

interface Asked {
  readonly show: Showrunner;
  readonly catalog: Catalog;
}

async function asking<T>(catalog: LocalServiceOptions["catalog"], work: (asked: Asked) => Promise<T>): Promise<T> {
  const service = await startLocalService({ renderer: "stub", balance: 5, ...(catalog && { catalog }) });
  const { baseUrl, apiKey } = service;
  const folder = emptyFolder();
  const show = await openShowrunner({
    baseUrl,
    apiKey,
    journal: createMemoryJournal(),
    mediaDir: join(folder, "media"),
  });
  try {
    return await work({ show, catalog: await pullCatalog(show.client, null) });
  } finally {
    await show.close();
    await service.close();
  }
}

async function init(env: Readonly<Record<string, string>>, ...args: string[]) {
  const cwd = emptyFolder();
  for (const name of ["SHOWRUNNER_BASE_URL", "SHOWRUNNER_API_KEY", "SHOWRUNNER_SERVICE"])
    vi.stubEnv(name, env[name] ?? "");
  vi.stubEnv("SHOWRUNNER_JOURNAL", join(cwd, "journal.db"));
  const { io, stdout, stderr } = fakeIo({ cwd, env });
  return { code: await runCli(["init", ...args], io), cwd, stdout: stdout(), stderr: stderr() };
}

describe("init, by the catalog of the service that is there", () => {
  test("finds on the local service what it writes without any", async () => {
    const found = await asking(undefined, ({ show, catalog }) => chooseStarter(show, catalog));
    expect(starterSource(found!)).toBe(starterSource(LOCAL_STARTER));
  });

  test.each([1, 2, 3])(
    "large catalog %i: the pair plans clean, and no film model is cheaper with the same fields",
    async (seed) => {
      await asking(largeCatalog(seed).entries as never, async ({ show, catalog }) => {
        const found = (await chooseStarter(show, catalog))!;
        expect([found.picture.model, found.film.model]).not.toContain("image-1");
        const total = async (film: string, input: object) => {
          const quote = await show.quote(
            pipeline("pair", {
              input: (await import("zod")).z.object({}),
              build: ({ job }) => {
                const picture = job("picture", found.picture.model, found.picture.input);
                return { film: job("film", film, { ...input, start_image: picture }) };
              },
            }),
            {},
          );
          return quote.ok ? quote.totalMicros.min : Infinity;
        };
        const chosen = await total(found.film.model, found.film.input);
        expect(chosen).toBeLessThan(Infinity);
        const films = catalog.models().filter(({ state, modality }) => state === "live" && modality === "video");
        const others = await Promise.all(films.map(({ id }) => total(id, found.film.input)));
        expect(Math.min(...others)).toBe(chosen);
      });
    },
  );

  test.each([1, 2])("large catalog %i: recipes are cast with models that take what they are given", async (seed) => {
    await asking(largeCatalog(seed).entries as never, async ({ show, catalog }) => {
      const ids = new Map(catalog.models().map(({ id }) => [id, id.replaceAll(/[^a-z0-9]/g, "_")]));
      const { source, missing } = await castFrom(show, catalog, ids);
      expect(missing).toEqual([]);
      const models = Object.fromEntries([...ids].map(([id, name]) => [name, model(id, { yields: "video" })]));
      const cast = new Function(
        "models",
        `${source
          .replace(/^import.*$/m, "")
          .replace("export const cast =", "return")
          .replace(" as const", "")}`,
      )(models);
      const quote = await show.quote(
        pipeline("shot", {
          input: (await import("zod")).z.object({}),
          build: ({ job }) => {
            const still = job("still", cast.image, { prompt: "A quay", aspect_ratio: "16:9" });
            const shot = { prompt: "It rains", start_image: still, aspect_ratio: "16:9" };
            const clip = job("clip", cast.video, { ...shot, ...cast.clip, ...cast.silent });
            const speech = job("speech", cast.speech, { text: "It rains.", voice_id: cast.voice });
            const fine = job("fine", cast.video, { ...shot, ...cast.fine.clip });
            const coarse = job("coarse", cast.video, { ...shot, ...cast.coarse.clip });
            return { clip, fine, coarse, long: job("long", cast.video, { ...shot, ...cast.longClip }), speech };
          },
        }),
        {},
      );
      expect(quote.problems).toEqual([]);
    });
  });

  test("a service that cannot be asked is named, and the local one stands in", async () => {
    const { code, cwd, stderr } = await init({
      SHOWRUNNER_BASE_URL: "http://127.0.0.1:9/v3",
      SHOWRUNNER_API_KEY: "a:b",
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /Could not load the list of models from http:\/\/127\.0\.0\.1:9\/v3 \(.+\): using the local service's models/,
    );
    expect(readFileSync(join(cwd, "film.ts"), "utf8")).toBe(starterSource(LOCAL_STARTER));
  });

  test("a catalog without a pair is said", async () => {
    const entries = largeCatalog(1).entries.filter(({ modality }) => modality !== "image");
    const service = await startLocalService({ renderer: "stub", catalog: entries as never });
    const { stderr } = await init({ SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey });
    await service.close();
    expect(stderr).toContain("lacks an image model or a video model that starts from an image");
  });
});

describe("init --recipe", () => {
  test("lists the recipes without a name", async () => {
    const { stdout, code } = await init({}, "--recipe");
    expect([code, stdout.trim().split("\n").length - 1]).toEqual([0, listRecipes().length]);
    expect(listRecipes().length).toBeGreaterThan(10);
  });

  test.each(sampled(listRecipes(), 4).map(({ name }) => name))(
    "%s comes with every file and package that it needs",
    async (name) => {
      const { code, cwd, stderr } = await init({}, "--recipe", name);
      expect(code, stderr).toBe(0);
      const { dependencies } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
      for (const path of filesOf(name).files.filter((file) => file.endsWith(".ts"))) {
        const text = readFileSync(join(cwd, path), "utf8");
        for (const [, from = ""] of text.matchAll(/^(?:import|\}) .*from "(.+)";$/gm)) {
          if (from.startsWith(".")) expect(existsSync(join(cwd, path, "..", from)), `${path}: ${from}`).toBe(true);
          else if (!/^node:|^showrunner/.test(from)) expect(dependencies).toHaveProperty([from.replace(/\/sync$/, "")]);
        }
        for (const [, asset = ""] of text.matchAll(/"assets", "(.+?)"/g))
          expect(existsSync(join(cwd, "assets", asset)), asset).toBe(true);
      }
    },
  );

  test("an unknown one, a second copy and a file beside it are refused", async () => {
    expect((await init({}, "--recipe", "films")).stderr).toContain("recipe films does not exist");
    expect((await init({}, "film.ts", "--recipe", "takes")).stderr).toContain(
      "--recipe cannot be combined with a file name",
    );
  });
});
