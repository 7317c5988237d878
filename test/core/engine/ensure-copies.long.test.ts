import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openShowrunner, type RunResult, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { models, pipelineOf, stepOf } from "../../support/engine.ts";

vi.setConfig({ testTimeout: 60_000 });
const folder = mkdtempSync(join(tmpdir(), "sound-copy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const hourMs = 3_600_000;
const hashOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
/** Hash of what the local function was given. */
let seen: string | null = null;

/** Two pictures; once a person has looked at one, both are used: by a local function, and by a job where asked. */
function gated(reader: "task" | "job" | "place") {
  return pipelineOf(`gated-${reader}`, ({ job, approve, task }) => {
    const face = job("face", models.image, { prompt: "a face" });
    const chosen = approve("look", job("other", models.image, { prompt: "another" }));
    if (reader === "place") return { face, chosen };
    if (reader === "job")
      return { poster: job("poster", models.image, { prompt: "a poster", images: [face, chosen] }) };
    const note = task("note", { face, chosen }, ({ face: given }) => {
      seen = hashOf(given.path);
      return { seen };
    });
    return { note };
  });
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  "with a byte flipped": (path) => {
    const bytes = readFileSync(path);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(path, bytes);
  },
  removed: (path) => rmSync(path),
};

describe.each(Object.entries(damages))("A copy that is found %s", (damage, harm) => {
  // Pictures that differ: copies of equal bytes are one.
  let service: LocalService;
  let show: Showrunner;
  let home: string;

  beforeEach(async () => {
    seen = null;
    service = await startLocalService({
      speed: Number.POSITIVE_INFINITY,
      rateLimit: { requests: 1e6, windowMs: 60_000 },
    });
    home = mkdtempSync(join(folder, "run-"));
    show = await openShowrunner({
      baseUrl: service.baseUrl,
      apiKey: service.apiKey,
      journal: join(home, "journal.db"),
      mediaDir: join(home, "media"),
    });
  });
  afterEach(async () => {
    await show.close();
    await service.close();
  });

  /** Up to the approval; then the copy of the face is harmed. */
  async function harmed(reader: "task" | "job" | "place"): Promise<{ readonly sha256: string; readonly path: string }> {
    const run = await show.run(gated(reader), {}, { id: "x", outDir: join(home, "out") });
    const paused = await run.result();
    expect(paused.pause?.reason).toBe("approval");
    const sha256 = stepOf(paused, "face").outputs[0]!.sha256!;
    const path = join(home, "media", sha256.slice(0, 2), sha256);
    harm(path);
    await show.approve("x", "look");
    return { sha256, path };
  }

  /** Goes on as `show` says, pasted. */
  async function pasted(reader: "task" | "job" | "place", next: string): Promise<RunResult> {
    const step = /^showrunner resume x --rerun (\S+)$/.exec(next)?.[1];
    expect(step, next).toBe("face");
    return (await show.resume("x", { pipeline: gated(reader), rerun: [step!] })).result();
  }

  const resumed = async (reader: "task" | "job" | "place") =>
    (await show.resume("x", { pipeline: gated(reader) })).result();

  test(`${damage}: is fetched again for free before a local function reads it [G14]`, async () => {
    const { sha256, path } = await harmed("task");
    const { charged_micros, jobs_created } = service.stats();
    expect((await resumed("task")).status).toBe("succeeded");
    expect(seen).toBe(sha256);
    expect(hashOf(path)).toBe(sha256);
    expect(service.stats()).toMatchObject({ charged_micros, jobs_created });
  });

  test(`${damage}: is fetched again for free before it becomes a named file [G14]`, async () => {
    const { sha256 } = await harmed("place");
    const { charged_micros } = service.stats();
    expect((await resumed("place")).status).toBe("succeeded");
    expect(hashOf(join(home, "out", "face.png"))).toBe(sha256);
    expect(service.stats().charged_micros).toBe(charged_micros);
  });

  for (const reader of ["job", "task", "place"] as const) {
    test(`${damage}, and gone on the service: a ${reader} that needs it is not given it; the price and the command are told, and the command completes the run [G14]`, async () => {
      await harmed(reader);
      await service.clock.advance(49 * hourMs);
      const before = service.stats();
      const stopped = await resumed(reader);
      expect(stopped.pause).toMatchObject({
        reason: "files",
        message: /output of face is (damaged|missing).*\$0\.02/,
      });
      // It is at rest, and whoever resumes it without that is told the same again.
      expect((await resumed(reader)).pause).toEqual(stopped.pause);
      expect((await show.runs())[0]!.status).toBe("paused");
      expect(service.stats()).toMatchObject({
        jobs_created: before.jobs_created,
        charged_micros: before.charged_micros,
      });
      expect((await show.show("x")).held).toBe("0.00");
      expect(seen).toBeNull();
      if (reader === "place") {
        expect(existsSync(join(home, "out", "chosen.png"))).toBe(true);
        expect(existsSync(join(home, "out", "face.png"))).toBe(false);
      }
      const done = await pasted(reader, (await show.show("x")).next!.command);
      expect(done.status).toBe("succeeded");
      const made = done.report.steps.find(({ path: one }) => one === "face")!;
      expect(made.attempts).toHaveLength(2);
      expect(hashOf(join(home, "media", made.outputs[0]!.sha256!.slice(0, 2), made.outputs[0]!.sha256!))).toBe(
        made.outputs[0]!.sha256,
      );
      expect(service.stats().jobs_created).toBe(before.jobs_created + (reader === "job" ? 2 : 1));
    });
  }
});
