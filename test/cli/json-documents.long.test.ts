/** Every command with `--json`, run where its document is empty, where it is full, and where the command refuses. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { options } from "../../src/cli/program/flags.ts";
import { beginCli, cli, emptyFolder, root } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";
import { unresolvedRun } from "./support/unresolved.ts";

const film = (prompt: string, name = "film") => `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("${name}", {
  input: z.object({ sceneText: z.string().default("a quay") }),
  build({ input, job, task, choose, approve }) {
    const words = task("words", {}, () => ({ wordCount: 2, spentMicros: 1, seenAt: 5 }));
    const looks = job("looks", "image-1", { prompt: ${prompt}, num_outputs: 2 });
    return { words, bestLook: choose("best", looks.outputs(), { by: "person", message: "Which?" }) };
  },
});
`;
const bare = (prompt: string) => `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("card", {
  input: z.object({ sceneText: z.string().default("a quay") }),
  build: ({ input, job, task }) => ({
    theCard: job("card", "image-1", { prompt: ${prompt} }),
    theWords: task("words", {}, () => ({ wordCount: 2 })),
  }),
});
`;

let service: Service;
const empty = emptyFolder();
const full = emptyFolder();
const limits = { SHOWRUNNER_CAPS: "50/day, Client=*:20/day", SHOWRUNNER_SPENDING_CAP: "100" };

beforeAll(async () => {
  service = await startService(["--stub"]);
  const files = {
    "film.ts": film("input.sceneText"),
    "changed.ts": film('input.sceneText + "!"'),
    "card.ts": bare("input.sceneText"),
    "broken.ts": bare("42"),
    "rows.csv": "sceneText\na boat\na pier\n",
    "wrong.csv": "sceneText,other\na boat,1\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(full, name), text);
  await unresolvedRun(service, true, full);
  for (const id of ["waits", "picked", "refused"])
    await expectExit(3, ["run", "film.ts", "--id", id, "--budget", "1", "--tag", "Client=acme"]);
  await expectExit(0, ["run", "card.ts", "--id", "done", "--budget", "1", "--tag", "Client=acme"]);
  await expectExit(0, ["models", "pull"]);
  await expectExit(0, ["review-link", "--tag", "Client=acme"]);
});
afterAll(() => service.stop());

const here = (args: readonly string[], cwd = full) => cli(args, { cwd, env: { ...service.env, ...limits } });

async function expectExit(code: number, args: readonly string[]): Promise<string> {
  const ended = await here(args);
  expect(ended.code, ended.stderr).toBe(code);
  return ended.stdout;
}

type Line = readonly string[];

interface Case {
  /** Ends with a document, where nothing exists yet. */
  readonly empty?: readonly Line[];
  readonly full?: readonly Line[];
  /** Prints a document and then runs until it is stopped. */
  readonly serves?: readonly Line[];
  readonly refused: readonly Line[];
}

const cards = ["card.ts", "--each", "rows.csv"];
const journal = ["--journal", "nowhere.db"];

/** The words after the command's name. Cases of a command run in order. */
const cases: Readonly<Record<string, Case>> = {
  run: {
    full: [
      ["card.ts", "--id", "again", "--budget", "1"],
      ["film.ts", "--id", "waits"],
      [...cards, "--budget", "1"],
    ],
    refused: [["card.ts", "--budget", "0.001"], ["broken.ts"], ["card.ts", "--each", "wrong.csv", "--budget", "1"]],
  },
  plan: {
    full: [["film.ts"], ["film.ts", "--against", "done"], ["changed.ts", "--against", "film.ts"], cards],
    refused: [["broken.ts"], ["nowhere.ts"], ["card.ts", "--each", "wrong.csv"]],
  },
  resume: {
    full: [["waits"], ["waits", "--file", "changed.ts"], ["done"]],
    refused: [["nobody"], ["done", "--rerun", "nothing"]],
  },
  adopt: {
    full: [["x"], ["x", "bell"], ["done"], ["x", "bell", "none"]],
    refused: [["nobody"], ["done", "card"]],
  },
  approve: {
    empty: [[]],
    full: [[], ["waits"], ["done"], ["picked", "best", "--pick", "1"], ["picked"]],
    refused: [
      ["nobody", "best"],
      ["waits", "best", "--pick", "9"],
    ],
  },
  reject: { full: [["refused", "best", "--note", "no"]], refused: [["waits", "nothing"]] },
  "review-link": {
    empty: [["--list"]],
    full: [["--tag", "Client=acme"], ["waits", "best"], ["--list"]],
    refused: [
      ["--revoke", "nothing"],
      ["--tag", "Client=acme", "--expires", "soon"],
    ],
  },
  stop: { full: [["waits"], ["done"]], refused: [["nobody"]] },
  check: {
    full: [
      ["film.ts", "--against", ".showrunner/journal.db"],
      ["changed.ts", "--against", ".showrunner/journal.db"],
    ],
    refused: [["film.ts", "--against", "nowhere.db"]],
  },
  runs: { empty: [[]], full: [[], ["--tag", "Client=acme"]], refused: [journal] },
  show: { full: [["done"], ["waits"], ["x"]], refused: [["nobody"]] },
  open: {
    full: [
      ["done", "card"],
      ["done", "words"],
      ["waits", "best"],
    ],
    refused: [["done", "nothing"]],
  },
  report: { full: [["done"]], refused: [["nobody"], ["done", "--prices"]] },
  export: { full: [["done", "--otio", "cut.otio"]], refused: [["done"]] },
  statement: { empty: [[]], full: [[], ["--markup", "20%", "--tag", "Client=acme"]], refused: [["--month", "May"]] },
  reconcile: { empty: [[]], full: [[], ["done"]], refused: [["nobody"]] },
  marks: { full: [["out/done/theCard.png", "card.ts"]], refused: [["nowhere.png"]] },
  sign: { refused: [["out/done/theCard.png"]] },
  gc: { empty: [[]], full: [["--older-than", "0s", "--dry-run"]], refused: [["--older-than", "soon"]] },
  balance: { empty: [[]], full: [[]], refused: [["--base-url", "nowhere"]] },
  doctor: { empty: [[]], full: [[], ["--base-url", "http://127.0.0.1:9/v3"]], refused: [["--webhook-url", "nowhere"]] },
  migrate: {
    full: [[join(root, "recipes/migrated/hard-cases/v2.json"), "--out", "moved", "--local"]],
    refused: [["nowhere.json", "--out", "moved"]],
  },
  dashboard: { serves: [["--port", "0", "--viewers"]], refused: [["--port", "x"]] },
  worker: { empty: [["--once"]], full: [["--once"]], refused: [["--slices", "x"]] },
  mcp: { serves: [[".", "--http", "--port", "0"]], refused: [["nowhere"]] },
  "notify test": { full: [["--notify", "command:true"]], refused: [[]] },
  "notify key": { full: [[]], refused: [["--notify", "ftp://nowhere"]] },
  "notify list": { empty: [[]], full: [[]], refused: [["--journal", ""]] },
  serve: { serves: [["--port", "0", "--data", emptyFolder()]], refused: [["--speed", "x"]] },
  init: { empty: [["first.ts"], ["--recipe"]], refused: [["card.ts"]] },
  "skills install": { empty: [[]], full: [["--dir", "agents"]], refused: [["--dir", "card.ts"]] },
  "models list": { full: [[]], refused: [["--modality", "smell"]] },
  "models show": { full: [["video-1"], ["speech-1"]], refused: [["nothing"]] },
  "models pull": { full: [[]], refused: [["--out", "card.ts"]] },
  "models voices": { full: [["speech-1"]], refused: [["nothing"]] },
  "models diff": { full: [["film.ts", "broken.ts"]], refused: [["--snapshot", "nowhere.json"]] },
  "jobs list": { full: [[], ["--model", "video-1"]], refused: [["--limit", "x"]] },
  "jobs get": { full: [["JOB"]], refused: [["job_none"]] },
  "jobs follow": { full: [["JOB"]], refused: [["job_none"]] },
  "files upload": { full: [["out/done/theCard.png"]], refused: [["nowhere.png"]] },
};

/** `events` prints the journal's format (docs/events.md), and `api` what the service answers. */
const others = ["events", "api"];

test("every command with --json is in the table", () => {
  const all = Object.entries(options).filter(([, flags]) => Object.hasOwn(flags, "--json"));
  const names = all.map(([name]) => name).filter((name) => !others.includes(name));
  expect(Object.keys(cases).sort()).toEqual(names.sort());
});

const listed = Object.entries(cases);

test.each(listed)(
  "%s --json prints documents of one vocabulary",
  async (command, { empty: none = [], full: some = [], serves = [] }) => {
    for (const [cwd, lines] of [
      [empty, none],
      [full, some],
    ] as const) {
      for (const line of lines) {
        const [job] = line.includes("JOB") ? JSON.parse(await expectExit(0, ["jobs", "list", "--json"])) : [];
        const words = [...command.split(" "), ...line.map((word) => (word === "JOB" ? job.job_id : word)), "--json"];
        const { stdout, stderr } = await here(words, cwd);
        const documents = documentsIn(stdout);
        expect(documents, `${words.join(" ")}: ${stderr}`).not.toContainEqual(
          expect.objectContaining({ ok: false, code: expect.any(String) }),
        );
        for (const document of documents) expect(faultsIn(document), words.join(" ")).toEqual([]);
      }
    }
    for (const line of serves) {
      const served = beginCli([...command.split(" "), ...line, "--json"], { cwd: full, env: service.env });
      const document = JSON.parse(await served.printed);
      await served.stop();
      expect(faultsIn(document), command).toEqual([]);
    }
  },
);

test.each(listed)("%s --json prints a refusal as a document with a code", async (command, { refused }) => {
  for (const line of refused) {
    const words = [...command.split(" "), ...line, "--json"];
    const { code, stdout, stderr } = await here(words);
    expect(code, `${words.join(" ")}: ${stderr}`).toBeGreaterThan(0);
    const document = documentsIn(stdout).at(-1);
    expect(document, words.join(" ")).toMatchObject({
      ok: false,
      code: expect.stringMatching(/^[A-Z][A-Z0-9_]*$/),
      message: expect.stringMatching(/./),
      next: expect.stringMatching(/./),
    });
    expect(faultsIn(document), words.join(" ")).toEqual([]);
  }
});

test("the files of the runs exist, so that the cases above have something to show", () => {
  mkdirSync(join(full, "agents"), { recursive: true });
  expect(readdirSync(join(full, "out/done"))).toContain("theCard.png");
});

/** One document, or one per line. */
function documentsIn(stdout: string): readonly unknown[] {
  try {
    return [JSON.parse(stdout)];
  } catch {
    return stdout
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
}

/** Fields that contain data of users or of the service, under their own names. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...["tags", "input", "value", "new_value", "before", "after", "equals", "schema", "body"],
  ...["input_schema", "output_schema", "labels", "data", "raw"],
]);

const AMOUNTS: ReadonlySet<string> = new Set([
  ...["cost", "quote", "held", "spent", "budget", "balance", "projected", "unconfirmed", "maximum", "amount", "excess"],
  ...["cap", "floor", "max_cost", "committed", "total", "min", "max", "expected", "charged", "required", "price"],
]);

const AMOUNT = /^-?\d+\.\d{2,6}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function faultsIn(value: unknown, place = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => faultsIn(item, `${place}[${at}]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = `${place}.${name}`;
    const faults: string[] = [];
    if (!/^\$?[a-z][a-z\d]*(?:_[a-z\d]+)*$/.test(name)) faults.push(`${path}: is not snake_case`);
    if (/(?:micros|usd)$/.test(name)) faults.push(`${path}: has its unit in the name`);
    if (/(?:_at|^since|^until)$/.test(name) && inner !== null && !isInstant(inner))
      faults.push(`${path}: ${inner} is no instant`);
    if (AMOUNTS.has(name) && (typeof inner === "number" || (typeof inner === "string" && !AMOUNT.test(inner))))
      faults.push(`${path}: ${inner} is no amount`);
    if (FOREIGN.has(name) || isNamedByUser(name, inner)) return faults;
    return [...faults, ...faultsIn(inner, path)];
  });
}

function isInstant(value: unknown): boolean {
  return typeof value === "string" && INSTANT.test(value);
}

/** What a run returned has the pipeline's names. */
function isNamedByUser(name: string, value: unknown): boolean {
  return name === "outputs" && !Array.isArray(value);
}
