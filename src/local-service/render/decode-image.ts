import { workerData } from "node:worker_threads";
import { type Image, loadImage } from "@napi-rs/canvas";
import { type DecodeGate, passGate } from "./decode-gate.ts";

/** Decodes an image; in a pool thread, only while the thread is not closing. */
export function decodeImage(bytes: Uint8Array): Promise<Image> {
  const gate = workerData as DecodeGate | null;
  return gate === null ? loadImage(bytes) : passGate(gate, () => loadImage(bytes));
}
