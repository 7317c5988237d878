import { resolve } from "node:path";
import { webOrigin } from "../../kit/web-origin.ts";
import { InvalidOptionError } from "../errors.ts";
import type { OpenOptions } from "./options.ts";

/** What this machine may read on behalf of inputs. */
export interface InputDoor {
  /** Files and folders that may be read, links resolved; null: any file. */
  readonly filesFrom: readonly string[] | null;
  /** Origins inside a network that URLs may have. */
  readonly inside: readonly string[];
}

/** @throws InvalidOptionError */
export function inputDoor({ inside = [], filesDir }: OpenOptions): InputDoor {
  const origins = inside.map((text) => {
    const origin = webOrigin(text);
    if (origin !== null) return origin;
    throw new InvalidOptionError(
      "inside",
      `${JSON.stringify(text)} is not an origin; write it like http://assets.corp:8080, without a path.`,
    );
  });
  return { inside: origins, filesFrom: filesDir === undefined ? null : [resolve(filesDir)] };
}
