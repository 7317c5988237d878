import { createHash, type Hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { GREY_MP4, HEARD_MP4 } from "../core/kit/placeholder-media.ts";
import type { Renderer, RenderRequest, RenderResult } from "./render/contract.ts";

const SIDE_PX = 64;
const SOUND_RATE = 8_000;

/** A grey square. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAAKUlEQVR4nO3MQREAAAwCIKMb3RD77SAA6VEEAoFAIBAIBAKBQCAQfA8G320AeUC9G5AAAAAASUVORK5CYII=";

/** The header of a WAV of one second, 16-bit mono PCM. */
const WAV_HEADER = "UklGRqQ+AABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YYA+AAA=";
const TONE = Int16Array.from({ length: SOUND_RATE }, (_, i) => 8_000 * Math.sin((2 * Math.PI * 200 * i) / SOUND_RATE));

const NOTHING = {
  contentType: null,
  width: null,
  height: null,
  durationMs: null,
  fps: null,
  sizeBytes: 0,
  voice: null,
};

function media(contentType: string, bytes: Uint8Array, facts: Partial<RenderResult>) {
  return { ...NOTHING, contentType, ...facts, sizeBytes: bytes.length, bytes };
}

const size = { width: SIDE_PX, height: SIDE_PX };
export const PICTURE = media("image/png", Buffer.from(PNG, "base64"), size);
export const FILM = media("video/mp4", Buffer.from(GREY_MP4, "base64"), { ...size, durationMs: 1000, fps: 5 });
const WAV = Buffer.concat([Buffer.from(WAV_HEADER, "base64"), new Uint8Array(TONE.buffer)]);
export const SOUND = media("audio/wav", WAV, { durationMs: 1000 });
/** The same with a tone, AAC. */
export const HEARD_FILM = media("video/mp4", Buffer.from(HEARD_MP4, "base64"), { ...size, durationMs: 1000, fps: 5 });

/** Avatars speak, and films have sound unless that is turned off. */
function mediaOf({ kind, input }: RenderRequest & { readonly kind: Exclude<RenderRequest["kind"], "voice"> }) {
  switch (kind) {
    case "image":
      return PICTURE;
    case "speech":
      return SOUND;
    case "avatar":
      return HEARD_FILM;
    case "video":
      return input["generate_audio"] === true ? HEARD_FILM : FILM;
    default:
      return kind satisfies never;
  }
}

function voice({ input }: RenderRequest): RenderResult {
  const label = typeof input["name"] === "string" ? input["name"] : "voice";
  return { ...NOTHING, voice: { base: "slt", pitchHz: null, loudnessDb: null, label } };
}

/**
 * Renders tiny media at once, for tests and benchmarks: the same picture, film and tone every time, with a mark of what
 * was requested in the bytes, so that equal requests have equal outputs and others have not.
 */
export function createStubRenderer(): Renderer {
  return {
    async render(request) {
      const { kind } = request;
      if (kind === "voice") return voice(request);
      const { bytes, ...measured } = mediaOf({ ...request, kind });
      const marked = withMark(bytes, measured.contentType, await markOf(request));
      await writeFile(request.outPath, marked);
      return { ...measured, sizeBytes: marked.length };
    },
    close: () => Promise.resolve(),
  };
}

/** Media and voices count by what they are, not by the ids and addresses that the input names them by. */
async function markOf({ kind, index, input, media, voice: spoken }: RenderRequest): Promise<string> {
  const own = Object.entries(input).filter(([field]) => !Object.hasOwn(media, field) && field !== "voice_id");
  const hash = createHash("sha256").update(JSON.stringify([kind, index, withoutAddresses(own), spoken]));
  for (const [field, files] of Object.entries(media).sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(field);
    await addFiles(hash, files);
  }
  return hash.digest("hex");
}

async function addFiles(hash: Hash, files: RenderRequest["media"][string]): Promise<void> {
  for (const { path } of files) hash.update(await readFile(path));
}

/** Fields of media may have another name here than in the request. */
function withoutAddresses(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => {
      const isReference = typeof item === "object" && item !== null && "source" in item;
      return isReference || (typeof item === "string" && /^https?:/.test(item)) ? null : item;
    }),
  );
}

/** Where each container lets readers pass over what they do not know. */
function withMark(bytes: Uint8Array, contentType: string | null, mark: string): Uint8Array {
  const text = Buffer.from(mark, "latin1");
  switch (contentType) {
    case "image/png": {
      // A chunk `tEXt` before the last one, `IEND`.
      const chunk = Buffer.concat([Buffer.from("tEXtComment\0"), text]);
      const end = bytes.length - 12;
      return Buffer.concat([
        bytes.subarray(0, end),
        uint32(chunk.length - 4),
        chunk,
        uint32(crc32(chunk)),
        bytes.subarray(end),
      ]);
    }
    case "video/mp4":
      return Buffer.concat([bytes, uint32(text.length + 8), Buffer.from("free"), text]);
    default: {
      // A chunk of its own at the end of the RIFF file, whose size is in its header.
      const size = Buffer.alloc(4);
      size.writeUInt32LE(text.length);
      const marked = Buffer.concat([bytes, Buffer.from("mark"), size, text]);
      marked.writeUInt32LE(marked.length - 8, 4);
      return marked;
    }
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
