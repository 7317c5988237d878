import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import {
  createClient,
  createMemoryJournal,
  openShowrunner,
  type Pipeline,
  type RunOptions,
  type RunResult,
  type Showrunner,
} from "../../src/index.ts";
import { type LocalService, type LocalServiceOptions, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";

export interface LocalShow {
  readonly service: LocalService;
  readonly show: Showrunner;
  readonly folder: string;
  /** Runs the pipeline under a new name until it ends or pauses. */
  run(pipeline: Pipeline, input?: unknown, options?: RunOptions): Promise<RunResult>;
}

/** Starts a local service that draws stubs, and opens a Showrunner on it, for the tests in a file. */
export function localShow(options: LocalServiceOptions = {}): LocalShow {
  let runs = 0;
  const world = {
    async run(pipeline: Pipeline, input: unknown = {}, more: RunOptions = {}) {
      const id = `run-${++runs}`;
      return (await world.show.run(pipeline, input, { id, outDir: join(world.folder, id), ...more })).result();
    },
  } as { -readonly [K in keyof LocalShow]: LocalShow[K] };
  beforeAll(async () => {
    world.folder = await fastFolder("local-show-");
    world.service = await startLocalService({ renderer: "stub", dataDir: join(world.folder, "service"), ...options });
    const client = createClient({ baseUrl: world.service.baseUrl, apiKey: world.service.apiKey });
    world.show = await openShowrunner({
      client,
      journal: createMemoryJournal(),
      mediaDir: join(world.folder, "media"),
    });
  });
  afterAll(async () => {
    await world.show.close();
    await world.service.close();
    await rm(world.folder, { recursive: true, force: true });
  });
  return world;
}
