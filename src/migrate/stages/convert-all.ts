import { isRecord, pathText } from "../json-path.ts";
import type { MigrationContext } from "../migration-context.ts";
import { type Cycle, type Edge, inOrder, usedIds } from "../order.ts";
import type { V2Source } from "../read/source.ts";
import type { BodyReport } from "../report/report.ts";
import { assetReport, bodyReport } from "./body-reports.ts";
import type { Checked, Mistake } from "./check.ts";

/** Ids by which other bodies may use what a body makes; the first body that claims one keeps it. */
export function noteIdentities(sources: readonly V2Source[], context: MigrationContext): void {
  for (const [index, { value }] of sources.entries()) {
    if (!isRecord(value)) continue;
    const claim = (id: unknown, variation: number) => {
      if (typeof id === "string" && id !== "" && !context.identities.has(id))
        context.identities.set(id, { index, variation });
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

/** Converts every body after those that it uses. Bodies on a circle of ids are mistakes. */
export function convertAll(checked: readonly Checked[], context: MigrationContext, sources: readonly V2Source[]) {
  const byIndex = new Map(checked.map((one) => [one.index, one]));
  const edgesOf = (index: number): readonly Edge[] => {
    const one = byIndex.get(index);
    if (one?.is !== "body") return [];
    return usedIds(one.body.value, one.body.type).flatMap(({ path, id }): readonly Edge[] => {
      const link = context.link(one.body, id);
      if (link.to === "outside" || !byIndex.has(link.index)) return [];
      const uses = context.uses.get(id) ?? [];
      context.uses.set(id, uses);
      uses.push(one.source.at);
      return [{ to: link.index, path }];
    });
  };
  const { order, cycles } = inOrder(sources.length, edgesOf);
  const reports: BodyReport[] = [];
  // Every use is known by now: a walk along the edges has met them all.
  for (const index of order) {
    const one = byIndex.get(index);
    if (one === undefined) continue;
    reports.push(one.is === "asset" ? assetReport(one, context) : bodyReport(one.body, context));
  }
  reports.sort((a, b) => a.number - b.number);
  return { reports, cycles: cycles.map((cycle) => cycleMistake(cycle, sources)) };
}

function cycleMistake({ nodes, paths }: Cycle, sources: readonly V2Source[]): Mistake {
  const [first = 0] = nodes;
  const trail = nodes.map((node, at) => `${sources[node]?.at} uses, in ${pathText(paths[at] ?? [])},`);
  const message = `its ids run in a circle, so no order of jobs can make them: ${trail.join(" ")} what ${sources[first]?.at} makes`;
  const also = nodes.slice(1).flatMap((node) => sources[node] ?? []);
  return { code: "cyclic-ids", source: sources[first] as V2Source, path: paths[0] ?? [], message, also };
}
