import { createCanvas, type Image } from "@napi-rs/canvas";
import type { RenderRequest } from "../contract.ts";
import { imageSize } from "../size.ts";
import { readBrief } from "./brief.ts";
import type { Surface } from "./brush.ts";
import { drawCaption } from "./caption.ts";
import { enlargePicture } from "./enlarge.ts";
import { loadPicture } from "./picture.ts";
import { blendReferences } from "./references.ts";
import { drawScene } from "./scene.ts";

const REFERENCE_FIELDS = ["images", "image", "start_image", "reference_images"] as const;

/** An image of the prompt, or with `scale` the first given picture enlarged; `output_format` png (default), jpeg or webp. */
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
