import { readFile } from "node:fs/promises";
import type { Json } from "../../plan/plan.ts";
import { plain } from "../../run/foreign-names.ts";
import type { EffectContext, EffectResult } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { filesOf, localInput } from "./local-code.ts";

interface Picture {
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** A request as it is sent; or why it cannot be: what is wrong with its pictures, or how the effect ends without them. */
type Shown =
  | { readonly body: { readonly messages: readonly Readonly<Record<string, unknown>>[] } }
  | { readonly message: string }
  | { readonly without: EffectResult };

const MEBIBYTE = 1024 * 1024;
/** As Base64 all of them stay below the 16 MiB that services take as a body. */
const MOST_BYTES = { each: 4 * MEBIBYTE, all: 10 * MEBIBYTE } as const;
const MOST_PICTURES = 20;
const TYPES = ["image/jpeg", "image/png", "image/webp", "image/gif"];

/** The body of a chat, with the bytes of its pictures in the first message of the user. */
export async function withPictures(input: Json, context: EffectContext): Promise<Shown> {
  const { images, ...rest } = input as { readonly [field: string]: Json };
  if (images === undefined) return { body: rest as unknown as { messages: [] } };
  const hashes = filesOf(images);
  const without = await withoutCopies(hashes, context);
  if (without !== null) return { without };
  await using held = await context.media.hold(hashes);
  const pictures = [localInput(images, held)].flat() as readonly Picture[];
  const message = unfit(pictures);
  if (message !== null) return { message };
  const urls = await Promise.all(pictures.map(dataUrl));
  const parts = urls.map((url) => ({ type: "image_url", image_url: { url } }));
  const body = plain(rest) as unknown as { readonly messages: readonly Message[] };
  const at = body.messages.findIndex(({ role }) => role === "user");
  const messages = body.messages.map((message, index) =>
    index === at ? { ...message, content: [{ type: "text", text: message.content }, ...parts] } : message,
  );
  return { body: { ...body, messages } as unknown as { messages: [] } };
}

function unfit(pictures: readonly Picture[]): string | null {
  const next = "make them smaller first, for example by thumbnail of showrunner/film";
  if (pictures.length > MOST_PICTURES)
    return `images are ${pictures.length}, and a chat takes ${MOST_PICTURES} at most`;
  for (const { contentType, sizeBytes } of pictures) {
    if (!TYPES.includes(contentType)) return `images has ${contentType}, and a chat takes ${TYPES.join(", ")}`;
    if (sizeBytes > MOST_BYTES.each)
      return `images has one of ${sizeBytes} bytes, and a chat takes ${MOST_BYTES.each} each; ${next}`;
  }
  const all = pictures.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return all <= MOST_BYTES.all ? null : `images are ${all} bytes, and a chat takes ${MOST_BYTES.all} together; ${next}`;
}

async function dataUrl({ path, contentType }: Picture): Promise<string> {
  return `data:${contentType};base64,${await readFile(path, "base64")}`;
}
