/** Every format that the service takes is a file that can be planned, measured and uploaded. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../src/core/api/index.ts";
import { measureMedia } from "../../../src/core/engine/media/media-reader.ts";
import type { UploadStep } from "../../../src/core/plan/kinds/upload.ts";
import type { MediaKind } from "../../../src/core/plan/step.ts";
import { mediaSamples, type SampleName, soundOnlyWebm } from "../../local-service/support/media-samples.ts";
import { start } from "../../local-service/support/service.ts";
import { newFolder, openFakeShow, pipelineOf } from "../../support/engine.ts";

const samples = await mediaSamples();
const folder = newFolder();
const ENDINGS: Partial<Record<SampleName, string>> = { jpeg: "jpg", vorbis: "ogg" };

function fileOf(name: SampleName): string {
  const path = join(folder, `${name}.${ENDINGS[name] ?? name}`);
  writeFileSync(path, samples[name].bytes);
  return path;
}

async function planned(given: string | { readonly path: string; readonly kind: "audio" }) {
  const { show } = await openFakeShow();
  const sent = pipelineOf("p", ({ upload }) => ({ given: upload("given", given) }));
  const made = await show.plan(sent, {});
  return made.ok ? (made.plan.steps[0] as UploadStep) : made.problems;
}

/** What the service calls a file that a client uploads. */
async function uploaded(path: string, kind: MediaKind) {
  const { baseUrl, apiKey } = await start();
  const client = createClient({ baseUrl, apiKey });
  onTestFinished(() => client.close());
  return (await client.upload({ path }, { kind })).contentType;
}

test.each(Object.keys(samples) as SampleName[])("%s is planned, measured and uploaded as what it is", async (name) => {
  const { kind, contentType, width, height, durationMs, bytes } = samples[name];
  const path = fileOf(name);
  expect(await planned(path)).toMatchObject({ kind: "upload", yields: kind, file: { sizeBytes: bytes.length } });
  const facts = await measureMedia(path, kind);
  expect(facts).toMatchObject({ width, height });
  if (kind === "image") expect(facts).toEqual({ contentType, width, height, durationMs: null, fps: null });
  // Coders of lossy sound add up to three frames.
  if (!("fault" in facts)) expect(Math.abs((facts.durationMs ?? 0) - (durationMs ?? 0))).toBeLessThan(100);
  expect(await uploaded(path, kind)).toBe(contentType);
});

test("a WebM of sound alone is sound for plan, client and service", async () => {
  const path = join(folder, "voice.webm");
  writeFileSync(path, await soundOnlyWebm());
  const sound = { yields: "audio", file: { contentType: "audio/webm" } };
  expect(await planned({ path, kind: "audio" })).toMatchObject(sound);
  expect(await planned(path)).toMatchObject([{ code: "not-media-file" }]);
  expect(await uploaded(path, "audio")).toBe("audio/webm");
});
