/** What a step must say of itself to be drawn with others. */
export interface Groupable {
  readonly path: string;
  readonly kind: string;
  readonly model: string | null;
}

/** Steps that are drawn as one node, or one step by itself. */
export interface Group<T> {
  /** The path, with `*` where members differ. */
  readonly key: string;
  readonly members: readonly T[];
}

/** Up to so many steps are drawn one by one. */
export const MOST_SINGLE = 60;
const MOST_GROUPS = 150;
/** Fewer than these are drawn one by one. */
export const LEAST_MEMBERS = 3;

/** Every step by itself while that can be overlooked; else those that are alike as one. */
export function groupsOf<T extends Groupable>(steps: readonly T[], isGrouped: boolean): readonly Group<T>[] {
  const single = (step: T): Group<T> => ({ key: step.path, members: [step] });
  if (!isGrouped) return steps.map(single);
  const shape = ({ path }: T) => path.replaceAll(/\d+/g, "*");
  const byShape = Map.groupBy(steps, shape);
  const groups = byShape.size <= MOST_GROUPS ? byShape : Map.groupBy(steps, coarse);
  return [...groups].flatMap(([key, members]) =>
    members.length < LEAST_MEMBERS ? members.map(single) : [{ key, members }],
  );
}

function coarse({ kind, model, path }: Groupable): string {
  const nested = path.includes("/") ? `${path.slice(0, path.indexOf("/")).replaceAll(/\d+/g, "*")}/` : "";
  return `${nested}${model ?? kind} *`;
}
