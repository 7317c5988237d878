import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest begins first, so that no core idles while the last of them ends: 30 seconds and more alone, the longest first.
 * Vitest knows durations of earlier runs only, and goes by the size of files where there was none, as in a clean clone.
 */
const LONGEST: readonly string[] = [
  "test/package/readme.long.test.ts",
  "test/engine/chaos.long.test.ts",
  "test/engine/crash-matrix.test.ts",
  "test/engine/bulk-money.test.ts",
  "test/engine/media/bucket.long.test.ts",
  "test/worker/pg-boss.long.test.ts",
  "test/engine/adversary.long.test.ts",
  "test/journal/processes.long.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = project.name === "long" ? LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`)) : -1;
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
