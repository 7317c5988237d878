import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../../src/cli/program.ts";
import { createClient } from "../../../src/core/api/index.ts";
import { generateModels, pullCatalog } from "../../../src/core/catalog/index.ts";
import { openShowrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { writeReport } from "../../../src/studio/dashboard/index.ts";
import { fakeIo } from "../../cli/support/fake-io.ts";
import { serve, textUntil } from "../../studio/handler/support/served.ts";
import { apiCallError, isFull, MockProvider, models, newFolder, pipelineOf } from "../../support/engine.ts";
import { fakeService, json } from "../../support/fake-service.ts";
import { type PassingAnswer, startProxy } from "../../support/proxy.ts";
import { leaksIn, providerKeys, secretForms } from "../../support/secret-forms.ts";

const secret = "Zq3-kW9_vT7.hidden+part/of=the&key";
const pictures = pipelineOf("pictures", ({ job }) => {
  const look = job("look", models.image, { prompt: "a look" });
  return { shot: job("shot", models.image, { prompt: "a shot", images: [look] }) };
});

/** Fields of answers that only describe: whatever they say, a run goes on. */
const spoken = /^(message|reason|funding_url|content_type|trace_id|prompt|description|name|event|source)$/;

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService({ renderer: "stub", balance: 10 });
});
afterAll(() => service.close());

/** The service, but that it says this wherever it says anything. */
async function talkative(said: string) {
  const tell = (value: unknown, name = ""): unknown => {
    if (typeof value === "string") return spoken.test(name) ? `${value} ${said} https://s3.test/a?sig=${said}` : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => tell(item, name));
    const told = Object.entries(value).map(([key, item]) => [key, tell(item, key)]);
    return Object.fromEntries([...told, [`x ${said}`, said]]);
  };
  const rewrite = (answer: PassingAnswer) => {
    // A schema that says something else describes another model.
    const isSchema = answer.method === "GET" && answer.path.includes("/models/");
    if (!isSchema && answer.body !== undefined) answer.body = tell(answer.body);
    answer.headers["x-trace-id"] = said;
  };
  return startProxy(service.baseUrl, { fault: () => ({ type: "rewrite", rewrite }), apiKey: service.apiKey });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

test.each(Object.entries(secretForms))(
  "a catalog that repeats the key %s leaves nothing of it in models.ts",
  async (_form, write) => {
    const said = write(secret);
    const properties = {
      prompt: { type: "string", description: said },
      [`x ${said}`]: { type: "string", enum: [said] },
    };
    const entry = { id: "image-9", modality: "image", name: said, description: `see ${said}`, price_description: said };
    const input_schema = { type: "object", additionalProperties: false, title: said, properties };
    const list = json(200, { data: [entry], next_cursor: null });
    const model = json(200, { ...entry, input_schema, output_schema: {} });
    const { baseUrl, close } = await fakeService((request, response) =>
      (request.path.endsWith("/models") ? list : model)(request, response),
    );
    const client = createClient({ baseUrl, apiKey: `key_0001:${secret}` });
    const source = generateModels(await pullCatalog(client, null));
    await client.close();
    await close();
    expect(source).toContain("image-9");
    expect(leaksIn(source, secret)).toEqual([]);
  },
);

const inEveryForm = (secret: string) =>
  Object.values(secretForms)
    .map((write) => write(secret))
    .join(" ");
// A full check has a run for each form alone, too.
const told = [["in every form", inEveryForm] as const, ...(isFull ? Object.entries(secretForms) : [])] as const;

describe.each(told)("a service that repeats the key %s", (_form, write) => {
  test.each(["goes well", "is refused"])(
    "leaves nothing of it in journal, events, report, manifests, logs or results of a run that %s",
    async (how) => {
      const folder = newFolder();
      const said = write(secret);
      const proxy = await talkative(said);
      const logs: unknown[] = [];
      const log = (...line: unknown[]) => void logs.push(line);
      const logger = { debug: log, info: log, warn: log, error: log };
      const client = createClient({ baseUrl: proxy.baseUrl, apiKey: `key_0001:${secret}`, logger });
      const mediaDir = join(folder, "media");
      const show = await openShowrunner({ client, journal: join(folder, "journal.db"), mediaDir, notify: false });
      if (how === "is refused")
        service.faults([{ kind: "error", code: "MODERATION_FAILED", route: "POST /models/{model}", count: 1 }]);
      const heard: unknown[] = [];
      const run = await show.run(pictures, {}, { id: "r", budget: "5", outDir: join(folder, "out") });
      for await (const event of run.events()) heard.push(event);
      const result = await run.result();
      heard.push(result, await show.show("r"), logs);
      await writeReport(show, "r", { file: join(folder, "report.html"), mediaDir, writtenAt: 0, version: "1" });
      await show.close();
      for (const command of ["show", "events"]) {
        const { io, stdout, stderr } = fakeIo({ cwd: folder, env: { SHOWRUNNER_API_KEY: `key_0001:${secret}` } });
        await runCli([command, "r", "--journal", join(folder, "journal.db")], io);
        expect(stdout() + stderr(), command).toContain("look");
        expect(leaksIn(stdout() + stderr(), secret), command).toEqual([]);
      }
      await client.close();
      proxy.close();
      service.faults([]);
      expect(leaksIn(JSON.stringify(heard), secret)).toEqual([]);
      for (const file of filesBelow(folder)) expect(leaksIn(readFileSync(file, "latin1"), secret), file).toEqual([]);
      if (how === "goes well") expect(result.status).toBe("succeeded");
    },
  );
});

/** Each key in each form, and as JSON within JSON. */
const repeated = Object.values(providerKeys).flatMap((key) =>
  [...Object.values(secretForms), (text: string) => JSON.stringify(JSON.stringify({ key: text }))].map((write) => {
    return { key, text: write(key) };
  }),
);

test(`of ${repeated.length} forms of a key that a provider repeats, none is in show, in events, or in what callers of a handler read, and its log has none`, async () => {
  const folder = newFolder();
  const journal = join(folder, "journal.db");
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const show = await openShowrunner({ client, journal, mediaDir: join(folder, "media"), notify: false });
  const drawn = pipelineOf("drawn", ({ generate }) => ({
    all: repeated.map(({ key, text }, at) => {
      const provider = new MockProvider("mock", [{ throws: apiCallError(401, `no access for ${text}`) }]);
      const model = { ...provider.image(), config: { headers: { Authorization: `Key ${key}` } } };
      return generate(`s${at}`, model, { prompt: `${at}` }, { maxCost: "0.01" });
    }),
  }));
  const api = serve(show, join(folder, "sent"), { pipelines: { drawn } });
  const { id } = await api.start("repeated", {}, { at: "drawn" });
  const run = await api.until(id);
  const isOver = (text: string) => /run\.(finished|paused)/.test(text);
  const events = await textUntil(await api.send(`/api/runs/${id}/events`), isOver);
  api.handler.close();
  const list = await (await api.send("/api/runs")).text();
  const read: Record<string, string> = { callers: [JSON.stringify(run), events, list].join("\n") };
  expect(api.defects).toEqual([]);
  await show.close();
  await client.close();
  for (const command of [["show"], ["show", "--json"], ["events"], ["events", "--json"]]) {
    const { io, stdout, stderr } = fakeIo({ cwd: folder });
    await runCli([...command, id, "--journal", journal], io);
    read[command.join(" ")] = stdout() + stderr();
  }
  const { steps } = JSON.parse(read["show --json"]!) as { readonly steps: readonly { readonly reason: string }[] };
  expect(steps.filter(({ reason }) => reason.includes("no access for"))).toHaveLength(repeated.length);
  expect(read.show).toContain("no access for");
  for (const [where, text] of Object.entries(read)) {
    for (const key of Object.values(providerKeys)) {
      expect(leaksIn(text, key.slice(key.indexOf(":") + 1)), `${key} in ${where}`).toEqual([]);
    }
  }
});
