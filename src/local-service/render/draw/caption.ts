import type { Size } from "../size.ts";
import type { Context } from "./brush.ts";
import { fontOf } from "./fonts.ts";

const LINES = 2;

/** The prompt in small letters at the lower left, over a shade that keeps it legible. */
export function drawCaption(context: Context, { width, height }: Size, prompt: string): void {
  const text = prompt.replace(/\s+/gu, " ").trim();
  if (text === "") return;
  const letter = Math.max(11, Math.min(width, height) * 0.023);
  const margin = letter * 1.7;
  context.font = fontOf(letter);
  const lines = wrap(context, text, Math.min(width - 2 * margin, letter * 34));
  const block = lines.length * letter * 1.4;
  const top = height - margin - block;
  const shade = context.createLinearGradient(0, top - letter * 4, 0, height);
  shade.addColorStop(0, "rgba(10, 12, 24, 0)");
  shade.addColorStop(1, "rgba(10, 12, 24, 0.5)");
  context.fillStyle = shade;
  context.fillRect(0, top - letter * 4, width, height);
  context.fillStyle = "rgba(255, 255, 255, 0.92)";
  context.textBaseline = "top";
  for (const [i, line] of lines.entries()) context.fillText(line, margin, top + i * letter * 1.4);
}

function wrap(context: Context, text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.slice(0, 400).split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (context.measureText(longer).width <= width) {
      line = longer;
      continue;
    }
    if (lines.length === LINES - 1) return [...lines, ellipsized(context, longer, width)];
    if (line !== "") lines.push(line);
    line = word;
  }
  return [...lines, ellipsized(context, line, width)];
}

function ellipsized(context: Context, line: string, width: number): string {
  if (context.measureText(line).width <= width) return line;
  let kept = line;
  while (kept.length > 1 && context.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}…`;
}
