import type { Reference, RunReport } from "../../index.ts";

/** One of the results that an approval shows, with the number to pick it by. */
export interface OfferedTake {
  readonly pick: number;
  readonly step: string;
  readonly index: number;
  readonly content_type: string | null;
  readonly asset_id: string | null;
  /** Path below the run's folder, where it has a name already. */
  readonly file: string | null;
}

/** What these references lead to, in the order in which the engine counts them. */
export function offeredTakes(shows: readonly Reference[], report: RunReport): readonly OfferedTake[] {
  const takes = shows.flatMap(({ $ref }) => {
    if ($ref.as === "upload") return [{ step: $ref.step, index: 0, content_type: null, asset_id: null, file: null }];
    const outputs = report.steps.find(({ path }) => path === $ref.step)?.outputs ?? [];
    return outputs
      .filter(({ index, status }) => ($ref.output === "all" || $ref.output === index) && status !== "FAILED")
      .map(({ index, content_type, asset_id, file }) => ({ step: $ref.step, index, content_type, asset_id, file }));
  });
  return takes.map((take, pick) => ({ pick, ...take }));
}
