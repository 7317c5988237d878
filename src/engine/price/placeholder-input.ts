import { crc32, deflateSync } from "node:zlib";
import { traitsOf } from "../../plan/index.ts";
import type { JobStep, Json, MediaKind, PlanStep, Reference } from "../../plan/plan.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "./estimates.ts";
import { sampleValue } from "./sample-value.ts";

/** Always the same, so made once. */
let picture: Uint8Array | null = null;

/**
 * A tiny valid file of a kind, to price a job whose media do not exist yet: a grey picture, or silence of the expected
 * length. Null for video, which no few lines can make.
 */
export function placeholder(kind: MediaKind, expected: { readonly durationMs: number }): Uint8Array | null {
  switch (kind) {
    case "image":
      picture ??= greyPng(512, 512);
      return picture;
    case "audio":
      return silentWav(expected.durationMs);
    case "video":
      return null;
    default:
      return kind satisfies never;
  }
}

function greyPng(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0], 8); // 8 bits a sample, greyscale
  const rows = Buffer.alloc((width + 1) * height, 0x80);
  for (let y = 0; y < height; y++) rows[y * (width + 1)] = 0; // filter: none
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function silentWav(durationMs: number): Uint8Array {
  const rate = 8000;
  const size = Math.round((durationMs / 1000) * rate) * 2;
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + size, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // mono
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(size, 40);
  return Buffer.concat([header, Buffer.alloc(size)]);
}

type Ref = Reference["$ref"];

/** What speech is expected to last, for want of the speech itself. */
const MS_PER_CHARACTER = 70;
const GUESSED_MS = 5000;

export interface PlaceholderSources {
  readonly steps: ReadonlyMap<string, PlanStep>;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
}

/** What takes the place of a result that does not exist yet, in an input whose price is asked; null when nothing can. */
export async function placeholderInput(step: JobStep, ref: Ref, sources: PlaceholderSources): Promise<Json | null> {
  const source = sources.steps.get(ref.step);
  if (source === undefined) return null;
  const { file } = traitsOf(source);
  if (file !== null) return { source: "upload", sha256: file.sha256 };
  if (ref.as === "value") return sampleOf(source, ref, sources);
  if (ref.as === "voice") return sources.estimates.anyVoice(step.model);
  if (ref.kind === undefined) return null;
  const bytes = placeholder(ref.kind, { durationMs: lengthOf(source, sources) });
  if (bytes === null) return null;
  const { sha256 } = await sources.media.put({ bytes });
  const media: Json = { source: "upload", sha256 };
  const outputs = "outputs" in source ? source.outputs : 1;
  return ref.output === "all" ? Array.from({ length: outputs }, () => media) : media;
}

/** A value of the right shape where a schema tells it, else text. */
function sampleOf(source: PlanStep, ref: Ref, sources: PlaceholderSources): Json {
  const schema = "schema" in source && source.schema !== null ? source.schema : chosenSchema(source, sources);
  const value = sampleValue(schema, ref.at);
  return ref.output === "all" && !Array.isArray(value) ? [value] : value;
}

function chosenSchema(source: PlanStep, { steps }: PlaceholderSources): Json {
  const first = firstOf(source, steps);
  return first !== undefined && "schema" in first && first.schema !== null ? first.schema : true;
}

/** A pick or an approval is expected to stand for the first of what it has. */
function firstOf(source: PlanStep, steps: ReadonlyMap<string, PlanStep>): PlanStep | undefined {
  const [first] = traitsOf(source).standsFor;
  if (first === undefined) return undefined;
  const found = steps.get(first.$ref.step);
  return found === undefined ? undefined : (firstOf(found, steps) ?? found);
}

function lengthOf(source: PlanStep, { steps }: PlaceholderSources): number {
  const produced = firstOf(source, steps) ?? source;
  if (produced.kind !== "job") return GUESSED_MS;
  const input = produced.input as { readonly text?: Json; readonly duration_ms?: Json };
  if (typeof input.duration_ms === "number") return input.duration_ms;
  return typeof input.text === "string" ? Math.max(1000, input.text.length * MS_PER_CHARACTER) : GUESSED_MS;
}
