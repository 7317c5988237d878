import type { ProbeResult } from "../contract.ts";
import { readSound } from "../sound/decode.ts";
import { locateSamples, type WavLayout } from "../sound/wav.ts";
import type { Format, WindowedFile } from "./formats.ts";

/** Measures a WAV by its headers and size, since any sample bytes are valid; decodes other formats slice by slice. */
export async function probeSound(file: WindowedFile, { reader, contentType }: Format): Promise<ProbeResult> {
  switch (reader) {
    case "wav": {
      const layout = await layoutOf(file);
      return layout.ok ? sound(contentType, layout.length, layout.format.rate) : no(layout.reason);
    }
    case "mp3":
    case "flac":
    case "ogg": {
      const unpacked = await readSound(file, reader, () => undefined);
      return unpacked.ok ? sound(contentType, unpacked.samples, unpacked.rate) : no(unpacked.reason);
    }
    default:
      return no(`${contentType} is no file of sound`);
  }
}

async function layoutOf(file: WindowedFile): Promise<WavLayout> {
  const walk = locateSamples(file.size);
  let step = walk.next();
  while (!step.done) step = walk.next(await file.read(step.value));
  return step.value;
}

function sound(contentType: string, samples: number, rate: number): ProbeResult {
  const durationMs = Math.round((samples / rate) * 1000);
  return { ok: true, kind: "audio", contentType, width: null, height: null, durationMs, fps: null };
}

const no = (reason: string): ProbeResult => ({ ok: false, reason: `this sound cannot be decoded: ${reason}` });
