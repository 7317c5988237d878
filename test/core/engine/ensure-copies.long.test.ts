import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openShowrunner, type ResumeOptions, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { models, newFolder, pipelineOf, stepOf } from "../../support/engine.ts";

vi.setConfig({ testTimeout: 60_000 });
const hourMs = 3_600_000;
const hashOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
/** Hash of what the local function was given. */
let seen: string | null = null;

type Reader = "task" | "job" | "place";
/** Two pictures; once a person has looked at one, both are used: by a local function, and by a job where asked. */
function gated(reader: Reader) {
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
    const rateLimit = { requests: 1e6, windowMs: 60_000 };
    service = await startLocalService({ speed: Number.POSITIVE_INFINITY, rateLimit });
    home = newFolder();
    const { baseUrl, apiKey } = service;
    const places = { journal: join(home, "journal.db"), mediaDir: join(home, "media") };
    show = await openShowrunner({ baseUrl, apiKey, ...places });
  });
  afterEach(async () => {
    await show.close();
    await service.close();
  });

  /** Up to the approval; then the copy of the face is harmed. */
  async function harmed(reader: Reader): Promise<{ readonly sha256: string; readonly path: string }> {
    const run = await show.run(gated(reader), {}, { id: "x", outDir: join(home, "out") });
    const paused = await run.result();
    expect(paused.pause?.reason).toBe("approval");
    const sha256 = stepOf(paused, "face").outputs[0]!.sha256!;
    const path = join(home, "media", sha256.slice(0, 2), sha256);
    harm(path);
    await show.approve("x", "look");
    return { sha256, path };
  }

  const resumed = async (reader: Reader, how: ResumeOptions = {}) =>
    (await show.resume("x", { pipeline: gated(reader), ...how })).result();

  test(`${damage}: is fetched again for free before a local function reads it [G14]`, async () => {
    const { sha256, path } = await harmed("task");
    const { charged_micros, jobs_created } = service.stats();
    expect((await resumed("task")).status).toBe("succeeded");
    expect([seen, hashOf(path)]).toEqual([sha256, sha256]);
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
      const { jobs_created, charged_micros } = service.stats();
      const stopped = await resumed(reader);
      expect(stopped.pause).toMatchObject({ reason: "files", message: /output of face is (damaged|missing).*\$0\.02/ });
      // It is at rest, and whoever resumes it without that is told the same again.
      expect((await resumed(reader)).pause).toEqual(stopped.pause);
      const next = { command: "showrunner resume x --rerun face" };
      expect(await show.show("x")).toMatchObject({ status: "paused", held: "0.00", next });
      expect(service.stats()).toMatchObject({ jobs_created, charged_micros });
      expect(seen).toBeNull();
      const placed = ["chosen.png", "face.png"].map((name) => existsSync(join(home, "out", name)));
      if (reader === "place") expect(placed).toEqual([true, false]);
      const done = await resumed(reader, { rerun: ["face"] });
      const { attempts, outputs } = stepOf(done, "face");
      expect([done.status, attempts.length]).toEqual(["succeeded", 2]);
      const sha256 = outputs[0]!.sha256!;
      expect(hashOf(join(home, "media", sha256.slice(0, 2), sha256))).toBe(sha256);
      expect(service.stats().jobs_created).toBe(jobs_created + (reader === "job" ? 2 : 1));
    });
  }
});
