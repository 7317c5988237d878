import { createCanvas } from "@napi-rs/canvas";
import { invalid, problem } from "../http/refusal.ts";
import { announcedSize, decodeImage } from "../render/probe/probe-image.ts";

const MOST_PIXELS = 64_000_000;
const SIDE = 16;
/** An image is black if every channel of every pixel is below this value. */
const BLACK_BELOW = 24;

export async function blackAmong(urls: readonly string[]): Promise<readonly number[]> {
  const black: number[] = [];
  for (const [index, url] of urls.entries()) if (await isBlack(url, index)) black.push(index + 1);
  return black;
}

async function isBlack(url: string, index: number): Promise<boolean> {
  const unread = () => invalid([problem("messages", `contain an unreadable image (number ${index + 1})`, "image")]);
  // Remote images are not fetched, so they are never reported as black.
  if (!url.startsWith("data:")) return false;
  const bytes = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  const size = announcedSize(bytes);
  if (size === null || size.width * size.height > MOST_PIXELS) throw unread();
  const image = await decodeImage(bytes).catch(() => null);
  if (image === null || image.width * image.height === 0) throw unread();
  const context = createCanvas(SIDE, SIDE).getContext("2d");
  context.drawImage(image, 0, 0, SIDE, SIDE);
  const { data } = context.getImageData(0, 0, SIDE, SIDE);
  return data.every((part, at) => at % 4 === 3 || part < BLACK_BELOW);
}
