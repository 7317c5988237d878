import { lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { ForbiddenFileError, openNamedFile } from "../../../src/core/engine/media/open-file.ts";
import { file, pipeline } from "../../../src/index.ts";
import { startDashboard } from "../../../src/studio/dashboard/index.ts";
import { models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { type Listening, listen } from "../../support/listen.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { PIXEL } from "../../support/tiny-media.ts";

let server: Listening;
let port = 0;
const seen: string[] = [];

beforeAll(async () => {
  server = await listen(
    createServer((request, response) => {
      seen.push(`${request.headers.host}${request.url}`);
      const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
      if (to !== null) response.writeHead(302, { location: to }).end();
      else response.end(PIXEL);
    }),
  );
  ({ port } = server);
});
afterAll(() => server.close());
beforeEach(() => void seen.splice(0));

/** Of whoever gives the input, which names the picture. */
const given = pipeline("given", {
  input: z.object({ image: file("image") }),
  build: ({ input, job, upload }) => ({
    drawn: job("drawn", models.image, { prompt: "x", images: [upload("picture", input.image)] }),
  }),
});

const problemsOf = async (image: string, options: Parameters<typeof openFakeShow>[0] = {}) => {
  const { show } = await openFakeShow(options);
  const made = await show.plan(given, { image });
  return made.ok ? [] : made.problems.map(({ step, field, message }) => `${step} ${field}: ${message}`);
};

describe("an address that only an input names", () => {
  const REFUSED = [expect.stringMatching(/^picture file: .* was not fetched: .* is not a public address.*--inside/)];

  test.each([
    ...["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "017700000001", "0.0.0.0", "[::1]"],
    ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "169.254.169.254", "10.0.0.1", "100.64.0.1"],
    ...["[fe80::1]", "[fd00::1]", "192.168.1.1"],
  ])("is not read inside a network: %s", async (host) => {
    expect(await problemsOf(`http://${host}:${port}/a.png`)).toEqual(REFUSED);
    expect(seen).toEqual([]);
  });

  test("is not read by the dashboard, which plans what its page sends", async () => {
    const { show, journal, mediaDir } = await openFakeShow();
    const dashboard = await startDashboard({
      ...{ show, journal, media: await openMediaStore(mediaDir), token: "0123456789abcdef" },
      pipelines: [{ name: "given", pipeline: given, source: null }],
    });
    const opened = await fetch(dashboard.url, { redirect: "manual" });
    const answer = await fetch(`${dashboard.origin}/api/plan`, {
      method: "POST",
      headers: {
        cookie: opened.headers.get("set-cookie")?.split(";")[0] ?? "",
        origin: dashboard.origin,
        "content-type": "application/json",
      },
      body: JSON.stringify({ pipeline: "given", input: { image: `http://127.0.0.1:${port}/a.png` } }),
    });
    expect(await answer.text()).toContain("is not a public address");
    await dashboard.close();
    expect(seen).toEqual([]);
  });

  test("is not read where a value leads to it", async () => {
    const grown = pipeline("grown", {
      input: z.object({ image: z.string() }),
      build({ input, task, expand }) {
        const named = task("named", input.image, (image) => [image]);
        const all = expand("all", named, (images, to) => images.map((one) => to.upload("one", one)), { maxSteps: 2 });
        return { all };
      },
    });
    const { report } = await (await openFakeShow()).run(grown, { image: `http://127.0.0.1:${port}/a.png` });
    expect(report.steps.find(({ path }) => path === "all")?.reason).toContain("is not a public address");
    expect(seen).toEqual([]);
  });

  test("is read where the operator named its origin, or the code of the pipeline", async () => {
    const url = `http://127.0.0.1:${port}/a.png`;
    expect(await problemsOf(url, { inside: [`http://127.0.0.1:${port}`] })).toEqual([]);
    expect(await problemsOf(url, { inside: [`http://127.0.0.1:${port + 1}`] })).toEqual(REFUSED);
    expect(seen).toHaveLength(1);
    const { show } = await openFakeShow();
    const own = (inside: string) => pipelineOf("own", ({ upload }) => ({ a: upload("a", url, { inside }) }));
    expect(await show.plan(own(`http://127.0.0.1:${port}`), {})).toMatchObject({ ok: true });
    expect(await show.plan(own(url), {})).toMatchObject({ ok: false, problems: [{ code: "bad-option" }, {}] });
    await expect(openFakeShow({ inside: [url] })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  test("leads by a redirect to where it was named, and to no other place inside [addresses inside]", async () => {
    const inside = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
    const to = (url: string) => `http://127.0.0.1:${port}/from?to=${encodeURIComponent(url)}`;
    expect(await problemsOf(to("/a.png"), { inside })).toEqual([]);
    expect(await problemsOf(to(`http://localhost:${port}/a.png`), { inside })).toEqual(REFUSED);
    expect(await problemsOf(to("http://10.0.0.1/a.png"), { inside })).toEqual(REFUSED);
    expect(await problemsOf(to("file:///etc/passwd"), { inside })).toEqual([
      expect.stringContaining("URLs cannot be fetched"),
    ]);
    expect(seen.filter((one) => one.startsWith("localhost"))).toEqual([]);
    expect(await problemsOf(to("/from?to=%2Ffrom"), { inside })).toEqual([]);
  });
});

describe("a file that only an input names", () => {
  const root = newFolder();
  const folder = join(root, "allowed");
  const secret = join(root, "secret.png");
  mkdirSync(folder);
  mkdirSync(join(root, "allowed-not"));
  for (const path of [secret, join(folder, "own.png"), join(root, "allowed-not/a.png")]) writeFileSync(path, PIXEL);
  symlinkSync(secret, join(folder, "link.png"));
  symlinkSync(root, join(folder, "up"));
  symlinkSync(join(folder, "own.png"), join(folder, "own-link.png"));

  test.each([
    secret,
    `${"/".repeat(5_000)}${secret.slice(1)}`,
    `${folder}/${"./".repeat(3_000)}../secret.png`,
    join(folder, "link.png"),
    join(folder, "up/secret.png"),
    join(root, "allowed-not/a.png"),
    "/no/such.png",
    "/dev/zero",
  ])("is not read outside of the folder: %.60s", async (path) => {
    expect(await problemsOf(path, { filesDir: folder })).toEqual([expect.stringContaining("is outside the folders")]);
  });

  test("is read inside", async () => {
    for (const name of ["own.png", "own-link.png", "up/allowed/own.png"])
      expect(await problemsOf(join(folder, name), { filesDir: folder })).toEqual([]);
    expect(await problemsOf(secret)).toEqual([]);
  });

  test("is the one that was judged, however quickly a link turns to another [files by who named them]", async () => {
    writeFileSync(secret, "secret");
    const link = join(folder, "flips.png");
    const turn = (to: string) => {
      symlinkSync(to, `${link}.next`);
      renameSync(`${link}.next`, link);
    };
    let isOver = false;
    let turns = 0;
    const turning = (async () => {
      for (; !isOver; turns += 1) {
        turn(turns % 2 === 0 ? secret : join(folder, "own.png"));
        await new Promise((done) => setImmediate(done));
      }
    })();
    const read = new Set<string>();
    let refused = 0;
    while (refused < 100 || read.size === 0) {
      try {
        await using opened = await openNamedFile(link, [folder]);
        read.add((await opened.file.readFile()).toString("base64"));
      } catch (error) {
        expect(error).toBeInstanceOf(ForbiddenFileError);
        refused += 1;
      }
    }
    isOver = true;
    await turning;
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect([...read]).toEqual([Buffer.from(PIXEL).toString("base64")]);
  });
});
