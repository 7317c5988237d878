import type { Desk } from "../desk.ts";
import { isRecord } from "../json-path.ts";
import type { V2Source } from "../read/source.ts";

/** Ids by which other bodies may use what a body makes; the first body that claims one keeps it. */
export function noteIdentities(sources: readonly V2Source[], desk: Desk): void {
  for (const [index, { value }] of sources.entries()) {
    if (!isRecord(value)) continue;
    const claim = (id: unknown, variation: number) => {
      if (typeof id === "string" && id !== "" && !desk.identities.has(id))
        desk.identities.set(id, { index, variation });
    };
    for (const field of ["reserved_asset_id", "asset_id", "generation_id", "id"]) claim(value[field], 0);
    for (const field of ["reserved_asset_ids", "generation_ids"]) {
      const ids = value[field];
      if (Array.isArray(ids)) for (const [variation, id] of ids.entries()) claim(id, variation);
    }
    const results = value.batch_results;
    if (!Array.isArray(results)) continue;
    for (const [variation, result] of results.entries()) {
      if (!isRecord(result)) continue;
      claim(result.asset_id, variation);
      claim(result.id, variation);
    }
  }
}
