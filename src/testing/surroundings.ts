import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ClockControl, LocalService } from "showrunner-local";
import { Agent } from "undici";
import { loadLocalService } from "../load-local-service.ts";
import { fastFolder } from "./fast-folder.ts";
import { type StudioOptions, serviceOptions } from "./options.ts";
import type { Surroundings } from "./process.ts";
import { clockOf, shortWaits } from "./service-clock.ts";

/** In the mode `short`. */
const SPEED = 100;

/** A service with a folder, connections to it and a clock. */
export interface TestService extends Surroundings, AsyncDisposable {
  readonly service: LocalService;
  readonly folder: string;
}

/** Starts a service of its own for a test. Throws where showrunner-local is not installed, with the command. */
export async function startTestService(options: StudioOptions): Promise<TestService> {
  const { startLocalService } = await loadLocalService();
  const folder = await fastFolder("showrunner-test-");
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  let service: LocalService;
  try {
    service = await startLocalService({ ...serviceOptions(options), dataDir: join(folder, "service") });
  } catch (error) {
    await removeFolder();
    throw error;
  }
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    service,
    dispatcher,
    folder,
    clock: options.time === "manual" ? heldByHand(service.clock) : shortWaits(service.clock, SPEED),
    chat: options.chat,
    families: options.families,
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      await service.close();
      await removeFolder();
    },
  };
}

function heldByHand(clock: ClockControl) {
  clock.manual();
  return clockOf(clock);
}
