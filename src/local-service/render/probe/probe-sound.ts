import type { ProbeResult } from "../contract.ts";
import { unpackMp3 } from "../sound/unpack-mp3.ts";
import { locateSamples, type WavLayout } from "../sound/wav-layout.ts";
import type { WindowedFile } from "./windowed-file.ts";

const WAV_TYPES: ReadonlySet<string> = new Set(["audio/wav", "audio/vnd.wave"]);

/** Measures a WAV by its headers and its size, for its samples cannot be wrong; decodes an MP3 slice by slice. */
export async function probeSound(file: WindowedFile, sniffed: string): Promise<ProbeResult> {
  if (WAV_TYPES.has(sniffed)) {
    const layout = await layoutOf(file);
    return layout.ok ? sound("audio/wav", layout.length, layout.format.rate) : no(layout.reason);
  }
  if (sniffed !== "audio/mpeg") return no(`${sniffed} is not WAV or MP3`);
  const unpacked = await unpackMp3(file.slices(), () => undefined);
  return unpacked.ok ? sound("audio/mpeg", unpacked.samples, unpacked.rate) : no(unpacked.reason);
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
