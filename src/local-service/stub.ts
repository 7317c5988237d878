import { writeFile } from "node:fs/promises";
import type { Renderer, RenderRequest, RenderResult } from "./render/contract.ts";
import { encodeWav } from "./render/sound/wav.ts";

const SIDE_PX = 64;
const SOUND_RATE = 8_000;

/** A grey square. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAAKUlEQVR4nO3MQREAAAwCIKMb3RD77SAA6VEEAoFAIBAIBAKBQCAQfA8G320AeUC9G5AAAAAASUVORK5CYII=";

/** One second of a 200 Hz tone, 16-bit mono PCM. */
const wave = Float32Array.from(
  { length: SOUND_RATE },
  (_, i) => 0.244 * Math.sin((2 * Math.PI * 200 * i) / SOUND_RATE),
);

/** One second of grey at 5 frames a second, H.264 in MP4, encoded once with the real renderer's encoder. */
const MP4 =
  "AAAAHGZ0eXBpc29tAAACAGlzb21hdmMxbXA0MQAAAsBtb292AAAAbG12aGQAAAAAAAAAAAAAAAAAAOEAAADhAAABAAABAAAAAAAA" +
  "AAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAACTHRy" +
  "YWsAAABcdGtoZAAAAAMAAAAAAAAAAAAAAAEAAAAAAADhAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA" +
  "AAAAAAAAAEAAAAAAQAAAAEAAAAAAAehtZGlhAAAAIG1kaGQAAAAAAAAAAAAAAAAAAAAFAAAABVXEAAAAAAA3aGRscgAAAABtaGxy" +
  "dmlkZQAAAAAAAAAAAAAAAE1lZGlhYnVubnlWaWRlb0hhbmRsZXIAAAABiW1pbmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5m" +
  "AAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAUlzdGJsAAAArXN0c2QAAAAAAAAAAQAAAJ1hdmMxAAAAAAAAAAEAAAAAAAAA" +
  "AAAAAAAAAAAAAEAAQABIAAAASAAAAAAAAAABEk1lZGlhYnVubnkgdjEuNjEuMAAAAAAAAAAAAAAAAAAAGP//AAAAIGF2Y0MBQgAK" +
  "/+EACGdCAAqmhCZAAQAFaM4DnIAAAAATY29scm5jbHgAAQABAAEAAAAAFGJ0cnQAAAAAAAAB4AAAAeAAAAAYc3R0cwAAAAAAAAAB" +
  "AAAABQAAAAEAAAAoc3RzYwAAAAAAAAACAAAAAQAAAAMAAAABAAAAAgAAAAIAAAABAAAAKHN0c3oAAAAAAAAAAAAAAAUAAAAYAAAA" +
  "CQAAAAkAAAAJAAAACQAAABhzdGNvAAAAAAAAAAIAAALkAAADDgAAABRzdHNzAAAAAAAAAAEAAAABAAAARG1kYXQAAAAUZbgRROTk" +
  "5OTk5OTk5OTk5OTk5PAAAAAFYeEUEYAAAAAFYeIUEYAAAAAFYeMUEYAAAAAFYeQUEYA=";

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
export const FILM = media("video/mp4", Buffer.from(MP4, "base64"), { ...size, durationMs: 1000, fps: 5 });
export const SOUND = media("audio/wav", encodeWav({ rate: SOUND_RATE, channels: [wave] }), { durationMs: 1000 });
const MEDIA = { image: PICTURE, video: FILM, avatar: FILM, speech: SOUND } as const;

function voice({ input }: RenderRequest): RenderResult {
  const label = typeof input["name"] === "string" ? input["name"] : "voice";
  return { ...NOTHING, voice: { base: "slt", pitchHz: null, loudnessDb: null, label } };
}

/** Renders the same tiny media every time, at once: for tests and benchmarks. */
export function createStubRenderer(): Renderer {
  return {
    async render(request) {
      if (request.kind === "voice") return voice(request);
      const { bytes, ...measured } = MEDIA[request.kind];
      await writeFile(request.outPath, bytes);
      return measured;
    },
    close: () => Promise.resolve(),
  };
}
