import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { SAMPLE_RATE } from "./output.ts";

export interface Loudness {
  /** Integrated loudness in LUFS. Null for silence. */
  readonly integrated: number | null;
  /** True peak in dBTP, or -99 for digital silence. */
  readonly truePeak: number;
}

export async function measureLoudness(path: string, name: string, signal?: AbortSignal): Promise<Loudness> {
  const args = ["-map", "0:a:0", "-af", "loudnorm=print_format=json"];
  const log = await runFfmpeg({ inputs: [{ path, name }], args, target: null, signal, isVerbose: true });
  const [, json = "{}"] = /(\{[^{}]*"input_i"[^{}]*\})/.exec(log) ?? [];
  const { input_i = "-inf", input_tp = "-inf" } = JSON.parse(json) as { input_i?: string; input_tp?: string };
  const integrated = Number(input_i);
  return { integrated: integrated > -70 ? integrated : null, truePeak: Number(input_tp.replace("inf", "99")) };
}

/** Peak limit in dBTP for audio before it is encoded, because encoding raises peaks slightly. */
const CEILING = -1.5;

/** Uses a constant gain, because ffmpeg's `loudnorm` would vary the gain of short audio. */
export function loudnessFilter({ truePeak }: Loudness, gain: number): string {
  const raised = `volume=${gain.toFixed(3)}dB`;
  if (truePeak + gain <= CEILING) return raised;
  // Oversampling by four detects peaks between samples.
  const limit = (10 ** (CEILING / 20)).toFixed(4);
  return `${raised},aresample=${4 * SAMPLE_RATE},alimiter=limit=${limit}:level=0:attack=2:release=40,aresample=${SAMPLE_RATE}`;
}
