import { greyPng } from "../../src/placeholder-media.ts";

/** A picture of one grey pixel. */
export const PIXEL = Buffer.from(greyPng(1));
