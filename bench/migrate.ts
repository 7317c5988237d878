/** How long 10,000 v2 bodies take to become a pipeline, its source and its report. Usage: node bench/migrate.ts [bodies] */
import { migrateV2, migrationFiles } from "../src/migrate/index.ts";
import { builtInCatalog } from "../test/support/built-in-catalog.ts";

const count = Number(process.argv[2] ?? 10_000);
const catalog = builtInCatalog();

/** Portraits, voices, and films that use both: as batch files are in life. */
function body(index: number): object {
  const id = (kind: number, at: number) => `0000000${kind}-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const group = Math.floor(index / 4);
  switch (index % 4) {
    case 0:
      return {
        type: "image",
        model_slug: "google/nano-banana-pro",
        text_prompt: `Portrait number ${group}, plain background, front view, soft light from the left`,
        aspect_ratio: "9:16",
        batch_size: 2,
        seed: group,
        reserved_asset_ids: [id(1, 2 * group), id(1, 2 * group + 1)],
      };
    case 1:
      return {
        type: "voice_clone",
        audio_id: id(2, group % 10),
        name: `speaker ${group}`,
        reserved_asset_id: id(3, group),
      };
    case 2:
      return {
        type: "video",
        model_slug: "together/hedra-avatar",
        start_keyframe_id: id(1, 2 * group + 1),
        audio_generation: {
          type: "text_to_speech",
          voice_id: id(3, group),
          text: `Good evening from studio ${group}. Tonight the lights come on by themselves.`,
          language: "English",
          stability: 0.4,
        },
        generated_video_inputs: { text_prompt: "talks to the camera", resolution: "720p", aspect_ratio: "9:16" },
      };
    default:
      return {
        type: "video",
        start_keyframe_id: id(1, 2 * group),
        generated_video_inputs: {
          text_prompt: "the camera moves closer",
          multi_prompt: [
            { prompt: "wide", duration_ms: 3400 },
            { prompt: "close", duration_ms: 3000 },
          ],
          resolution: "1080p",
        },
      };
  }
}

const text = JSON.stringify(Array.from({ length: count }, (_, index) => body(index)));
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const before = process.cpuUsage();
const started = performance.now();
const migration = migrateV2(text, { catalog });
const migrated = performance.now();
const files = migrationFiles(migration, catalog);
const written = performance.now();

console.log(`bodies              ${count} (${megabytes(text.length)} of JSON)`);
console.log(`jobs                ${migration.report.steps.length}`);
console.log(`migrated in         ${((migrated - started) / 1000).toFixed(2)} s`);
console.log(`written out in      ${((written - migrated) / 1000).toFixed(2)} s`);
for (const [name, content] of Object.entries(files)) console.log(`${name.padEnd(20)}${megabytes(content.length)}`);
// Processor time: a machine that has other things to do makes nothing slower but the clock.
const { user, system } = process.cpuUsage(before);
const seconds = (user + system) / 1_000_000;
console.log(`processor time      ${seconds.toFixed(2)} s`);
console.log(`memory              ${megabytes(process.memoryUsage().rss)}`);
if (seconds > 10) throw new Error(`${count} bodies took ${seconds.toFixed(1)} s; 10 s are allowed for 10,000`);
