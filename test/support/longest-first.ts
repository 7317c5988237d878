import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Test files to start first. Short files that detect general problems come first, then the files that take longer than a minute,
 * longest first, so that no core idles at the end. In a clean clone Vitest does not know durations yet, and would use the size of
 * the files instead.
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
