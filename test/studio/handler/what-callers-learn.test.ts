import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { CallerError, type Handle, pipeline } from "../../../src/index.ts";
import type { CallerDocument } from "../../../src/studio/handler/index.ts";
import { openAnswering } from "../../support/answering-show.ts";
import { expectAbsent } from "../../support/expect-absent.ts";
import { localShow } from "../../support/local-show.ts";
import { apiCallError, MockProvider } from "../../support/mock-models.ts";
import { byHeader, errorOf, keyed, type Served, serve, textUntil } from "./support/served.ts";

/** What belongs to the operator, as providers, databases and the author's own code say it. */
const SECRETS = [
  "9f2b:c0ffee-of-the-operator",
  "postgres://films:pw@10.0.0.7:5432/films",
  "sk-proj-4a5b6c7d8e9f",
  "</srv/films/keys/prod.env>",
  "[/srv/films/app.ts:12]",
  "file:///srv/films/secret.pem",
  "balance 3.20 of acme-corp",
];
const WORDS = `said: ${SECRETS.join(" ")}`;
const PARTS = ["c0ffee", "films:pw", "10.0.0.7", "sk-proj", "prod.env", "app.ts", "secret.pem", "acme-corp", "3.20"];

/** Each way in which code of the author, or somebody behind it, says something. */
const ways = ["task", "score", "expand", "build", "title", "schema"] as const;
const leaky = pipeline("leaky", {
  input: z.object({ by: z.enum(ways), words: z.string() }).transform((input) => {
    if (input.by === "schema") throw errorOfAuthor(input.words);
    return input;
  }),
  title: ({ by, words }) => {
    if (by === "title") throw errorOfAuthor(words);
    return `A ${by}`;
  },
  build: ({ input: { by, words }, task, job, takes, expand }) => {
    if (by === "build") throw errorOfAuthor(words);
    if (by === "expand") {
      const list = task("list", {}, () => ["a"]);
      const thrown = (): Handle => {
        throw errorOfAuthor(words);
      };
      const grown = expand("grown", list, thrown, { maxSteps: 2, yields: "value" } as never);
      return { one: grown };
    }
    if (by === "score") {
      const score = () => {
        throw errorOfAuthor(words);
      };
      return { one: takes("look", models.image, { prompt: "grey" }, { count: 2, choose: score }) };
    }
    const still = job("still", models.image, { prompt: "grey" });
    return {
      still,
      one: task("one", { still }, () => {
        throw errorOfAuthor(words);
      }),
    };
  },
});

const errorOfAuthor = (words: string) => (words === "" ? new Error(WORDS) : new CallerError(words));
const FOR_CALLERS = "Choose another subject: this one is taken.";

const world = localShow();
let api: Served;
const logged: string[] = [];
beforeAll(() => {
  api = serve(world.show, join(world.folder, "sent"), {
    pipelines: { leaky },
    onDefect: (error, reference) => logged.push(`${reference} ${error}`),
  });
});

/** All that a caller can read of a run, or of its refusal. */
async function learned(
  key: string,
  input: unknown,
): Promise<{ readonly text: string; readonly run: CallerDocument | null }> {
  const quoted = await (await api.post("/api/leaky/quote", { input })).text();
  const { id: quote } = JSON.parse(quoted) as { readonly id?: string };
  const started = await api.post("/api/leaky/runs", { input, quote }, keyed(key));
  const text = await started.text();
  if (!started.ok) return { text: quoted + text, run: null };
  const { id } = JSON.parse(text) as CallerDocument;
  const run = await api.until(id);
  const events = await api.events(id);
  const list = await (await api.send("/api/runs")).text();
  return { text: [quoted, text, JSON.stringify(run), events, list].join("\n"), run };
}

/** The answer to the start of a run that is agreed to. */
async function agreed(own: Served, at: string, key: string): Promise<Response> {
  const { id: quote } = (await (await own.post(`/api/${at}/quote`, { input: {} })).json()) as { readonly id: string };
  return own.post(`/api/${at}/runs`, { input: {}, quote }, keyed(key));
}

const toItsEnd = async (own: Served, id: string) =>
  textUntil(await own.send(`/api/runs/${id}/events`), (text) => /run\.(finished|paused)/.test(text));

const runtime = ["task", "score", "expand"] as const;
const planned = ["build", "title", "schema"] as const;

describe("of what code and services say", () => {
  test.each(runtime)("while a run is made (%s), its caller reads that it failed, and nothing else", async (by) => {
    const { text, run } = await learned(`leak-${by}`, { by, words: "" });
    expectAbsent(text, PARTS);
    const message = expect.stringContaining(run!.id);
    expect(run).toMatchObject({ status: expect.stringMatching(/failed|partial/), message });
    expect(JSON.stringify((await world.show.show(run!.id)).steps)).toContain("c0ffee");
  });

  test.each(planned)("while it is planned (%s), callers read a reference, under which it is logged", async (by) => {
    logged.length = 0;
    const { text } = await learned(`leak-${by}`, { by, words: "" });
    expectAbsent(text, PARTS);
    const references = [...text.matchAll(/"reference":"([0-9a-f]{8})"/g)].map(([, reference]) => reference!);
    expect(references).toHaveLength(2);
    for (const [at, reference] of references.entries()) {
      expect(logged[at]).toMatch(reference);
      expect(logged[at]).toContain("c0ffee");
    }
  });

  test.each([...planned, "task", "score", "expand"] as const)("a CallerError (%s) is read as it is", async (by) => {
    logged.length = 0;
    const { text, run } = await learned(`said-${by}`, { by, words: FOR_CALLERS });
    expect(text).toContain(FOR_CALLERS);
    if (run !== null) expect(run.message).toBe(FOR_CALLERS);
    expect(logged).toEqual([]);
  });
});

test("of a provider that refuses the operator's key, callers read that it failed", async () => {
  const { show, home } = await openAnswering({ providers: "call" });
  const provider = new MockProvider("fal", [{ throws: apiCallError(401, WORDS) }]);
  const drawn = pipeline("drawn", {
    input: z.object({}),
    build: ({ generate }) => ({
      one: generate("one", provider.image(), { prompt: "a red boat" }, { maxCost: "0.01" }),
    }),
  });
  const own = serve(show, join(home, "sent"), { pipelines: { drawn } });
  const begun = await agreed(own, "drawn", "1");
  const run = await own.until(((await begun.json()) as CallerDocument).id);
  const events = await toItsEnd(own, run.id);
  expectAbsent(JSON.stringify(run) + events, PARTS);
  expect(run).toMatchObject({ status: "failed", steps: [{ reason: "The service refused the request." }] });
  expect(provider.requests).toHaveLength(1);
  await show.close();
});

describe("of the service", () => {
  const closed = {
    pipelines: {
      still: pipeline("still", {
        input: z.object({}),
        build: ({ job }) => ({ a: job("a", "image-1", { prompt: "a" }) }),
      }),
    },
  };

  test.each([401, 402, 403, 404, 500, "lost"] as const)("callers read no word when it answers %s", async (answer) => {
    const { show, service, home } = await openAnswering();
    const told: string[] = [];
    const own = serve(show, join(home, "sent"), { ...closed, onDefect: (error) => told.push(String(error)) });
    const begun = await agreed(own, "still", "1");
    expect(begun.status).toBe(201);
    const { id } = (await begun.json()) as CallerDocument;
    await own.until(id);
    service.fault = { kind: "submit", answer: answer as never, afterWork: false };
    const second = await agreed(own, "still", "2");
    const run = await own.until(((await second.json()) as CallerDocument).id);
    const read = JSON.stringify(run) + (await toItsEnd(own, run.id));
    expectAbsent(read, ["service.test", "said by the test", "showrunner ", " --", "/v3"]);
    expect(run.message).not.toBeNull();
    await show.close();
  });
});

test("what all callers may spend is not said to one of them", async () => {
  const { show, home } = await openAnswering({ spendingCap: "0.15" });
  const two = pipeline("two", {
    input: z.object({}),
    build: ({ job }) => ({ all: ["a", "b"].map((name) => job(name, "image-1", { prompt: name })) }),
  });
  const own = serve(show, join(home, "sent"), { pipelines: { two }, authorize: byHeader({ budget: "5" }) });
  const begun = await agreed(own, "two", "1");
  const run = await own.until(((await begun.json()) as CallerDocument).id);
  const message = "This server has reached its spending limit; the operator of this server can continue the run.";
  expect(run).toMatchObject({ status: "paused", message });
  expectAbsent(JSON.stringify(run), ["0.15"]);
  await show.close();
});

describe("an id that no run can have", () => {
  test.each(["%00", "a%00b", "a b", "%F0%9F%98%80", "x".repeat(101), "con", "'--"])(
    "%s is absent by every door, and no store is asked for it [ids]",
    async (id) => {
      const asked: string[] = [];
      const journal = new Proxy(world.show.journal, {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...given: unknown[]) => {
            asked.push(String(name));
            return value.apply(target, given);
          };
        },
      });
      const own = serve(Object.create(world.show, { journal: { value: journal } }), join(world.folder, "sent"));
      const media = `/api/media/${id}/${"0".repeat(64)}.png?type=image%2Fpng&ends=9999999999999&mark=x`;
      const answers = [
        await own.send(`/api/runs/${id}`),
        await own.send(`/api/runs/${id}/events`),
        await own.post(`/api/runs/${id}/decisions`, { step: "x", approve: true }),
        await own.post(`/api/runs/${id}/stop`, {}),
        await own.send(media, { as: null }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
      expect((await own.send(`/api/runs?pipeline=${id}`)).status).toBe(200);
      expect(asked.filter((name) => name !== "runs")).toEqual([]);
      expect(own.defects).toEqual([]);
    },
  );
});

test("a tag of authorize that can be none is logged once, however many requests meet it, and refused without its words", async () => {
  const told: string[] = [];
  let tag = "*";
  const own = serve(world.show, join(world.folder, "sent"), {
    authorize: () => ({ tags: { customer: tag } }),
    onDefect: (error, reference) => told.push(`${reference} ${error}`),
  });
  const references = new Set<string | null>();
  for (const given of ["*", "*", "a\u0000", " ", "x".repeat(81), ""]) {
    tag = given;
    const response = await own.send("/api/runs");
    const { error } = (await response.json()) as { error: { code: string; message: string; reference: string } };
    expect([response.status, error.code]).toEqual([500, "CALLER"]);
    expect(error.message).toContain(error.reference);
    references.add(error.reference);
  }
  expect(told).toHaveLength(1);
  expect([...references]).toEqual([told[0]!.slice(0, 8)]);
  expect(told[0]).toMatch(/`authorize` returned an invalid caller: .*"\*" is not a valid value for the tag customer/);
});

test("an accepted decision is answered with what is true after it", async () => {
  const own = serve(world.show, join(world.folder, "sent"));
  const { id } = await own.start("decided", { prompt: "grey" }, { at: "picked" });
  const [open] = (await own.until(id, "paused")).waiting;
  expect((await own.until(id, "paused")).message).toBe("The run is waiting for a decision.");
  const decided = await own.post(`/api/runs/${id}/decisions`, { step: open!.step, approve: true, pick: 0 });
  const after = (await decided.json()) as CallerDocument;
  expect([after.status === "paused", after.pause, after.message, after.waiting]).toEqual([false, null, null, []]);
  const twice = await own.post(`/api/runs/${id}/decisions`, { step: "nowhere", approve: true });
  expect(await errorOf(twice)).toMatchObject({ code: "INVALID_OPTION", field: "step", reference: null });
  await own.until(id);
});
