import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes a second and says what is wrong with the whole begins first. Then what takes a minute and more on a busy machine, the
 * longest first, so that no core idles while the last of them ends. Vitest knows durations of earlier runs only, and goes by the
 * size of files where there was none, as in a clean clone.
 */
const LONGEST: readonly string[] = [
  "test/package/readme.full.test.ts",
  "test/package/tutorial.full.test.ts",
  "test/package/init.full.test.ts",
  "test/recipes/film-recipes.full.test.ts",
  "test/recipes/recipes.full.test.ts",
  "test/fleet/worker/clocks-and-kills.full.test.ts",
  "test/core/marks/c2pa/signed-files.full.test.ts",
  "test/studio/mcp/connections.full.test.ts",
  "test/cli/stranger-walk.full.test.ts",
  "test/core/engine/media/bucket-run.full.test.ts",
  "test/core/engine/media/bucket.full.test.ts",
  "test/fleet/worker/chaos.full.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (moduleId.includes("/test/architecture/")) return -1;
      const place = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
