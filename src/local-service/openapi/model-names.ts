import { createHash } from "node:crypto";

/** A model's names in the document. */
export interface ModelNames {
  /** `submit_video_1` */
  readonly operationId: string;
  /** Component of the input's schema: `Video1Input`. */
  readonly input: string;
}

/** Reserved for the operation for all models, and the remainder of an id without Latin letters or digits. */
const RESERVED = ["job", ""];

const words = (id: string): string[] => id.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** `veo-3.1` becomes `Veo3_1`: adjacent numbers stay separate. */
function pascal(id: string): string {
  return words(id)
    .map(capital)
    .join(" ")
    .replaceAll(/(?<=\d) (?=\d)/g, "_")
    .replaceAll(" ", "");
}

const short = (id: string) => createHash("sha256").update(id).digest("hex").slice(0, 6);

/** Names by id. They depend on the id alone; only ids whose names generators would spell alike carry a hash. */
export function modelNames(ids: readonly string[]): ReadonlyMap<string, ModelNames> {
  const spelling = (id: string) => words(id).join("").toLowerCase();
  const uses = new Map<string, number>();
  for (const id of ids) uses.set(spelling(id), (uses.get(spelling(id)) ?? 0) + 1);
  return new Map(
    ids.map((id) => {
      const isAlone = uses.get(spelling(id)) === 1 && !RESERVED.includes(spelling(id));
      const suffix = isAlone ? "" : `_${short(id)}`;
      return [id, { operationId: `submit_${words(id).join("_")}${suffix}`, input: `${pascal(id)}Input${suffix}` }];
    }),
  );
}
