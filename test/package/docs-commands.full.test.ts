/** Shell commands of the docs, as they stand. test/docs/commands.test.ts sees that each is run here or listed with why not. */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import { startLocalService } from "../../src/local-service/index.ts";
import { FILM, WALKS } from "../docs/support/walks.ts";
import { type Installed, installed, makeProject, writeInto } from "./support/project.ts";
import { filesOf, typePage } from "./support/type-page.ts";

vi.setConfig({ testTimeout: 330_000 });

const walks = Object.entries(WALKS).filter(([, { isInClone = false }]) => !isInClone);
let packages: Installed;

beforeAll(async () => {
  packages = await installed();
});
afterAll(() => rmSync(dirname(packages.modules), { recursive: true, force: true }));

describe("shell commands in the docs", () => {
  test.concurrent.each(walks)("of %s do what they say", async (page, walk) => {
    const folder = makeProject(packages);
    // Where the command line keeps its own: each command finds the one that runs.
    const service = await startLocalService({
      dataDir: join(folder, ".showrunner/local"),
      renderer: "stub",
      balance: 100,
    });
    try {
      writeInto(folder, { "film.ts": FILM, ...filesOf(page), ...walk.files });
      await typePage(page, walk, { folder, bin: packages.bin, service, timeoutMs: 300_000 });
    } finally {
      await service.close();
    }
  });
});
