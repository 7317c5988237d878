import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cli } from "../cli/support/cli.ts";
import { compileCache } from "../support/compile-cache.ts";
import { ownCommand } from "../support/own-command.ts";

vi.setConfig({ testTimeout: 180_000 });

const root = resolve(import.meta.dirname, "../..");
const script = join(root, "recipes/github-action/price-diff.ts");

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** GitHub's comments of one pull request. */
let github: Server;
let api: string;
let sent: Sent[];
let comments: { id: number; body: string; user: { type: string } }[];
let mayWrite: boolean;
let folder: string;
beforeEach(async () => {
  [sent, comments, mayWrite] = [[], [], true];
  github = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const { method = "", url: path = "", headers } = request;
    const body = text === "" ? "" : (JSON.parse(text) as { readonly body: string }).body;
    sent.push({ method, path, authorization: headers.authorization, body });
    if (method !== "GET" && !mayWrite) return void response.writeHead(403).end("{}");
    if (method === "POST") comments.push({ id: 7, body, user: { type: "Bot" } });
    if (method === "PATCH") comments = comments.map((one) => (path.endsWith(`/${one.id}`) ? { ...one, body } : one));
    response.end(JSON.stringify(method === "GET" ? comments : {}));
  }).listen(0, "127.0.0.1");
  await once(github, "listening");
  api = `http://127.0.0.1:${(github.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), "price-diff-"));
  for (const side of ["base", "head"]) {
    const packages = join(folder, side, "node_modules/showrunner");
    mkdirSync(join(packages, "bin"), { recursive: true });
    // What the package's command does.
    writeFileSync(
      join(packages, "bin/showrunner.js"),
      `import module from "node:module";
module.enableCompileCache(${JSON.stringify(compileCache.NODE_COMPILE_CACHE)});
await import(${JSON.stringify(ownCommand)});\n`,
    );
    writeFileSync(join(packages, "package.json"), '{ "name": "showrunner", "type": "module" }');
    symlinkSync(join(root, "node_modules/zod"), join(folder, side, "node_modules/zod"));
  }
  writeFileSync(join(folder, "event.json"), JSON.stringify({ pull_request: { number: 12 } }));
});
afterEach(() => github.close());

const pipeline = (pictures: readonly string[], quality = "standard") => `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("ad", {
  input: z.object({}),
  build: ({ job }) => ({ ${pictures.map((name) => `${name}: job("${name}", "image-1", { prompt: "x", quality: "${quality}" })`).join(", ")} }),
});
`;

function write(side: "base" | "head", text: string, name = "ad.ts"): void {
  writeFileSync(join(folder, side, name), text);
}

function run(
  pipelines: string,
  env: Record<string, string> = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly summary: string }> {
  const summary = join(folder, "summary.md");
  writeFileSync(summary, "");
  const own = {
    ...{ PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" },
    ...{ INPUT_PIPELINES: pipelines, INPUT_BASE: "base", INPUT_HEAD: "head", INPUT_TOKEN: "gh-token" },
    ...{
      GITHUB_API_URL: api,
      GITHUB_REPOSITORY: "me/films",
      GITHUB_EVENT_PATH: join(folder, "event.json"),
      GITHUB_STEP_SUMMARY: summary,
    },
  };
  return new Promise((done) => {
    execFile(process.execPath, [script], { cwd: folder, env: { ...own, ...env } }, (error, stdout, stderr) => {
      done({
        code: error === null ? 0 : Number(error.code),
        stdout: stdout + stderr,
        summary: readFileSync(summary, "utf8"),
      });
    });
  });
}

test("the price of each changed step and of the whole is commented, and the comment is kept up to date", async () => {
  write("base", pipeline(["one", "two"]));
  write("head", pipeline(["one", "three"], "pro"));
  const first = await run("ad.ts");
  expect(first, first.stdout).toMatchObject({ code: 0, stdout: "Comment written.\n" });
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /repos/me/films/issues/12/comments?per_page=100&page=1",
    "POST /repos/me/films/issues/12/comments",
  ]);
  expect(sent[1]).toMatchObject({ authorization: "Bearer gh-token" });
  expect(comments[0]!.body).toContain(`### \`ad.ts\`

$0.04 → **$0.12** (+$0.08, +200%)

| Step | Before | After |
|---|---:|---:|
| \`one\` | $0.02 \`image-1\` | $0.06 \`image-1\` |
| \`two\` | $0.02 \`image-1\` | – |
| \`three\` | – | $0.06 \`image-1\` |`);
  expect(first.summary).toContain(comments[0]!.body);
  write("head", pipeline(["one", "two"]));
  await run("ad.ts");
  expect(comments).toHaveLength(1);
  expect(comments[0]!.body).toContain("unchanged: $0.04");
});

test("a comment of somebody else that looks like it is left alone", async () => {
  comments = [{ id: 3, body: "<!-- showrunner-price-diff --> mine", user: { type: "User" } }];
  write("base", pipeline(["one"]));
  write("head", pipeline(["one"]));
  await run("ad.ts");
  expect(comments.map(({ id, body }) => [id, body.includes("mine")])).toEqual([
    [3, true],
    [7, false],
  ]);
});

test("without the right to comment, as from a fork, the table is in the summary and the check passes", async () => {
  mayWrite = false;
  write("base", pipeline(["one"]));
  write("head", pipeline(["one", "two"]));
  const { code, stdout, summary } = await run("ad.ts");
  expect(code, stdout).toBe(0);
  expect(stdout).toContain("::notice::The token cannot write comments");
  expect(summary).toContain("$0.02 → **$0.04** (+$0.02, +100%)");
});

test("new, removed, broken and wrong pipelines are told, and marks in them stay text", async () => {
  write("head", pipeline(["fresh"]), "new.ts");
  write("base", pipeline(["old"]), "removed.ts");
  write("head", 'throw new Error("`</details> @everyone |");', "broken.ts");
  write("head", pipeline(["one"]).replace('prompt: "x"', 'promt: "x"'), "wrong.ts");
  const { code, stdout, summary } = await run("new.ts\nremoved.ts\nbroken.ts\nwrong.ts\nnone.ts");
  expect(code, stdout).toBe(0);
  expect(summary).toContain("### `new.ts`\n\nnew → **$0.02**");
  expect(summary).toContain("### `removed.ts`\n\nRemoved; it was $0.02.");
  expect(summary).toMatch(/### `broken\.ts`\n\nPlanning failed: `[^`]*broken\.ts threw an error while loading:[^`]*`/);
  expect(summary).toMatch(/### `wrong\.ts`\n\nThe plan has problems:\n\n- `one`: `/);
  expect(summary).toContain("### `none.ts`\n\nThe file does not exist.");
});

test("code of the pull request gets neither the token nor the key of the job", async () => {
  const spy = `${pipeline(["one"])}\nif (Object.values(process.env).some((value) => /gh-token|s3cret/.test(value))) throw new Error("leaked");\n`;
  write("base", pipeline(["one"]));
  write("head", spy);
  const { summary } = await run("ad.ts", {
    SHOWRUNNER_API_KEY: "key:s3cret",
    SHOWRUNNER_BASE_URL: "http://127.0.0.1:9/v3",
  });
  expect(summary).toContain("unchanged: $0.02");
});

const asking = `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("ad", {
  input: z.object({ product: z.string() }),
  build: ({ input, job }) => ({ one: job("one", "image-1", { prompt: input.product }) }),
});
`;

test("a pipeline that needs an input is priced with the file beside it, and without one its fields are named", async () => {
  write("base", asking);
  write("head", asking);
  mkdirSync(join(folder, "head/inputs"));
  writeFileSync(join(folder, "head/inputs/ad.json"), '{ "product": "a lamp" }');
  expect((await run("ad.ts @inputs/ad.json")).summary).toContain("unchanged: $0.02");
  expect((await run("ad.ts")).summary).toContain("The plan has problems:\n\n- `input.product`: `is missing");
  expect((await run("ad.ts @inputs/none.json")).summary).toContain("input file inputs/none.json does not exist");
});

test("unfinished runs that the change would rerun fail the job, and are listed", async () => {
  const waiting = (prompt: string) =>
    pipeline(["one"])
      .replace("{ job }", "{ job, approve }")
      .replace("({ one:", `({ ok: approve("ok", job("two", "image-1", { prompt: "${prompt}" })), one:`);
  for (const side of ["base", "head"] as const) write(side, waiting("y"));
  const ran = await cli(["run", "ad.ts", "--id", "r1", "--budget", "1", "--local"], { cwd: join(folder, "base") });
  expect(ran.code, ran.stderr).toBe(3);
  const journal = { INPUT_JOURNAL: "base/.showrunner/journal.db" };
  const same = await run("ad.ts", journal);
  expect(same, same.stdout).toMatchObject({
    code: 0,
    summary: expect.stringContaining("All 1 would continue as planned."),
  });
  write("head", waiting("z"));
  const { code, summary } = await run("ad.ts", journal);
  expect(code).toBe(1);
  expect(summary).toContain("**1 of 1 would change.**");
  expect(summary).toContain("| `r1` | `two` | changed | $0.02 |");
});
