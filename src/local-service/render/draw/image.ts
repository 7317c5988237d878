import { createRequire } from "node:module";
import { type Canvas, createCanvas, GlobalFonts, type Image } from "@napi-rs/canvas";
import type { RenderRequest } from "../contract.ts";
import { loadPicture } from "../probe/probe-image.ts";
import { imageSize, type Size } from "../size.ts";
import { type Brief, readBrief } from "./brief.ts";
import { alpha, band, type Context, drawCover, type Surface, vertical } from "./brush.ts";
import { drawScene } from "./scene.ts";

const require = createRequire(import.meta.url);
const FILES: readonly (readonly [family: string, file: string])[] = [
  ["Render Inter", "@fontsource/inter/files/inter-latin-500-normal.woff2"],
  ["Render Inter Ext", "@fontsource/inter/files/inter-latin-ext-500-normal.woff2"],
  ["Render Inter Cyrillic", "@fontsource/inter/files/inter-cyrillic-500-normal.woff2"],
  ["Render Inter Greek", "@fontsource/inter/files/inter-greek-500-normal.woff2"],
  ["Render DejaVu", "dejavu-fonts-ttf/ttf/DejaVuSans.ttf"],
];

export function fontOf(sizePx: number): string {
  for (const [family, file] of FILES) {
    if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(require.resolve(file), family);
  }
  return `${sizePx.toFixed(1)}px ${FILES.map(([family]) => `"${family}"`).join(", ")}`;
}

const LINES = 2;

const letterOf = ({ width, height }: Size) => Math.max(11, Math.min(width, height) * 0.023);

export function drawCaption(context: Context, size: Size, prompt: string): void {
  const { width, height } = size;
  const text = prompt.replace(/\s+/gu, " ").trim();
  if (text === "") return;
  const letter = letterOf(size);
  const margin = letter * 1.7;
  context.font = fontOf(letter);
  const lines = wrap(context, text, Math.min(width - 2 * margin, letter * 34));
  const block = lines.length * letter * 1.4;
  const top = height - margin - block;
  const shaded = top - letter * 4;
  band(context, size, shaded, vertical(context, shaded, height, ["rgba(10, 12, 24, 0)", "rgba(10, 12, 24, 0.5)"]));
  context.fillStyle = "rgba(255, 255, 255, 0.92)";
  context.textBaseline = "top";
  for (const [i, line] of lines.entries()) context.fillText(line, margin, top + i * letter * 1.4);
}

/** Covers the caption with a mirror image of the strip above it. */
export function withoutCaption(picture: Canvas): Canvas {
  const { width, height } = picture;
  const strip = Math.ceil(letterOf(picture) * (1.7 + 1.4 * LINES));
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  context.setTransform(1, 0, 0, -1, 0, 2 * (height - strip));
  context.drawImage(picture, 0, height - 2 * strip, width, strip, 0, height - 2 * strip, width, strip);
  return canvas;
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
  let shown = line;
  while (shown.length > 1 && context.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return `${shown.trimEnd()}…`;
}

const SCENE_SHARE = 0.7;
const SOFTNESS = 0.07;

export function blendReferences(scene: Surface, references: readonly Image[], brief: Brief): Surface {
  const { width, height } = scene;
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  const band = width / (references.length + SCENE_SHARE);
  const soft = width * SOFTNESS;
  for (const [i, picture] of [...references, scene].entries()) {
    const left = i === 0 ? 0 : i * band - soft;
    const right = i === references.length ? width : (i + 1) * band + soft;
    const layer = createCanvas(Math.ceil(right - left), height);
    const over = layer.getContext("2d");
    over.imageSmoothingQuality = "high";
    drawCover(over, picture, 0, 0, layer);
    if (i > 0) {
      const mask = over.createLinearGradient(0, 0, 2 * soft, 0);
      mask.addColorStop(0, "rgba(0, 0, 0, 0)");
      mask.addColorStop(1, "rgba(0, 0, 0, 1)");
      over.globalCompositeOperation = "destination-in";
      over.fillStyle = mask;
      over.fillRect(0, 0, layer.width, height);
    }
    context.drawImage(layer, left, 0);
  }
  context.globalCompositeOperation = "soft-light";
  const light = context.createLinearGradient(0, 0, width, height);
  light.addColorStop(0, alpha(brief.palette.light, 0.25));
  light.addColorStop(1, alpha(brief.tint, 0.35));
  context.fillStyle = light;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "source-over";
  return canvas;
}

const MAX_SIDE = 8192;

export function enlargePicture(picture: Image, scale: number): Surface {
  const factor = Math.min(scale, MAX_SIDE / Math.max(picture.width, picture.height));
  const canvas = createCanvas(Math.round(picture.width * factor), Math.round(picture.height * factor));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

const REFERENCE_FIELDS = ["images", "image", "start_image", "reference_images"] as const;

/** Draws an image, or enlarges the first input image if `scale` is set. */
export async function renderImage(request: RenderRequest): Promise<Uint8Array> {
  const { input, media, seed, index } = request;
  const files = REFERENCE_FIELDS.flatMap((field) => (media[field] ?? []).map((file) => ({ file, field })));
  const format = String(input.output_format ?? "png").toLowerCase();
  const [first] = files;
  if (first && typeof input.scale === "number") {
    return encode(enlargePicture(await loadPicture(first.file, first.field), input.scale), format);
  }
  const size = imageSize(input, files[0]?.file);
  const prompt = String(input.prompt ?? "");
  const brief = readBrief(prompt, seed, index);
  const scene = drawScene(size, brief);
  const references: Image[] = [];
  for (const { file, field } of files) references.push(await loadPicture(file, field));
  const canvas = references.length === 0 ? scene : blendReferences(scene, references, brief);
  drawCaption(canvas.getContext("2d"), size, prompt);
  return encode(canvas, format);
}

async function encode(canvas: Surface, format: string): Promise<Uint8Array> {
  if (format.includes("jp")) {
    const flat = createCanvas(canvas.width, canvas.height);
    flat.getContext("2d").drawImage(canvas, 0, 0);
    return flat.encode("jpeg", 90);
  }
  return format.includes("webp") ? canvas.encode("webp", 90) : canvas.encode("png");
}
