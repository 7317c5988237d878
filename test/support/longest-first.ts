import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest begins first, so that no core idles while the last of them ends: a minute and more in CI, the longest first.
 * Vitest knows durations of earlier runs only, and goes by the size of files where there was none, as in a clean clone.
 */
const LONGEST: readonly string[] = [
  "test/package/readme.long.test.ts",
  "test/package/tutorial.long.test.ts",
  "test/package/init.long.test.ts",
  "test/recipes/film-recipes.long.test.ts",
  "test/recipes/recipes.long.test.ts",
  "test/worker/clocks-and-kills.long.test.ts",
  "test/marks/c2pa/signed-files.long.test.ts",
  "test/mcp/connections.long.test.ts",
  "test/cli/stranger-walk.long.test.ts",
  "test/engine/media/bucket-run.long.test.ts",
  "test/engine/media/bucket.long.test.ts",
  "test/worker/chaos.long.test.ts",
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
