import { resolve } from "node:path";
import { webOrigin } from "../../kit/web-origin.ts";
import { InvalidOptionError } from "../errors.ts";
import type { OpenOptions } from "./options.ts";

/** What inputs may name to be read by this machine. */
export interface InputDoor {
  /** Files, and folders that files must lie in, links resolved; null: anywhere. */
  readonly filesFrom: readonly string[] | null;
  /** Origins inside a network that URLs may be of. */
  readonly inside: readonly string[];
}

/** @throws InvalidOptionError */
export function inputDoor({ inside = [], filesDir }: OpenOptions): InputDoor {
  const origins = inside.map((text) => {
    const origin = webOrigin(text);
    if (origin !== null) return origin;
    throw new InvalidOptionError(
      "inside",
      `${JSON.stringify(text)} is no origin; write it like http://assets.corp:8080, without a path.`,
    );
  });
  return { inside: origins, filesFrom: filesDir === undefined ? null : [resolve(filesDir)] };
}
