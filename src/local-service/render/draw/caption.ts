import { createRequire } from "node:module";
import { GlobalFonts } from "@napi-rs/canvas";
import type { Size } from "../size.ts";
import type { Context } from "./brush.ts";

const require = createRequire(import.meta.url);
const FILES: readonly (readonly [family: string, file: string])[] = [
  ["Render Inter", "@fontsource/inter/files/inter-latin-500-normal.woff2"],
  ["Render Inter Ext", "@fontsource/inter/files/inter-latin-ext-500-normal.woff2"],
  ["Render Inter Cyrillic", "@fontsource/inter/files/inter-cyrillic-500-normal.woff2"],
  ["Render Inter Greek", "@fontsource/inter/files/inter-greek-500-normal.woff2"],
  ["Render DejaVu", "dejavu-fonts-ttf/ttf/DejaVuSans.ttf"],
];

/** A CSS font value of our own font files; the machine's fonts are never used, so text looks the same everywhere. */
export function fontOf(sizePx: number): string {
  for (const [family, file] of FILES) {
    if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(require.resolve(file), family);
  }
  return `${sizePx.toFixed(1)}px ${FILES.map(([family]) => `"${family}"`).join(", ")}`;
}

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
