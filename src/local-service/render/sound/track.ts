import { FilePathSource, Input, MP4, QTFF, WEBM } from "mediabunny";
import { collected, type DecodedSound } from "./collected.ts";
import { unpackOpus } from "./opus.ts";
import { no } from "./unpack.ts";

/** The sound of a film or of a container of films: decoded where it is Opus, otherwise silence of its length. */
export async function decodeTrack(path: string): Promise<DecodedSound> {
  const source = new FilePathSource(path, { handleUnhandledError: () => undefined });
  try {
    using input = new Input({ source, formats: [MP4, QTFF, WEBM] });
    const track = await input.getPrimaryAudioTrack();
    if (track === null) return no("it has no track of sound");
    if (track.codec === "opus") return await collected((keep) => unpackOpus(track, keep));
    const length = Math.round((await track.computeDuration()) * track.sampleRate);
    return { ok: true, sound: { rate: track.sampleRate, channels: [new Float32Array(length)] } };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}
