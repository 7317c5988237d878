import { HOUR_MS } from "../../core/kit/duration.ts";
import type { Cue } from "./cues.ts";

export function srt(cues: readonly Cue[]): string {
  // An arrow in the text would start a cue.
  const escaped = (text: string) => text.replaceAll("-->", "--\u2060>");
  return cues
    .map(({ start, end, text }, i) => `${i + 1}\n${stamp(start, ",")} --> ${stamp(end, ",")}\n${escaped(text)}\n`)
    .join("\n");
}

export function vtt(cues: readonly Cue[]): string {
  const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `WEBVTT\n\n${cues.map(({ start, end, text }) => `${stamp(start, ".")} --> ${stamp(end, ".")}\n${escaped(text)}\n`).join("\n")}`;
}

function stamp(seconds: number, point: "," | "."): string {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${two(ms / HOUR_MS)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${point}${String(ms % 1000).padStart(3, "0")}`;
}
