import type { Format } from "./format.ts";
import { isoMedia } from "./iso-media.ts";
import { jpeg } from "./jpeg.ts";
import { mp3 } from "./mp3.ts";
import { png } from "./png.ts";
import { wav, webp } from "./riff.ts";

/** Formats whose marks can be read and written. */
export const formats: readonly Format[] = [png, jpeg, webp, isoMedia, wav, mp3];
