import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClockControl, LocalService } from "showrunner-local";
import { Agent } from "undici";
import { type Clock, systemClock } from "../core/api/index.ts";
import { loadLocalService } from "../core/kit/load-local-service.ts";
import { type StudioOptions, serviceOptions } from "./options.ts";
import type { Surroundings } from "./process.ts";

const SPEED = 100;

export interface TestService extends Surroundings, AsyncDisposable {
  readonly service: LocalService;
  readonly folder: string;
}

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
    providers: options.providers,
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

const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 256 * 1024 * 1024;

export async function fastFolder(prefix: string): Promise<string> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return mkdtemp(join(free >= ENOUGH_BYTES ? MEMORY : tmpdir(), prefix));
}

export function clockOf(service: Pick<ClockControl, "now" | "at">): Clock {
  return {
    now: () => service.now(),
    setTimer: (delayMs, fire) => ({ cancel: service.at(service.now() + delayMs, fire) }),
  };
}

/** Each wait takes `1 / speed` of its duration, and advances the service's clock to its end. */
function shortWaits(service: ClockControl, speed: number): Clock {
  service.manual();
  return {
    now: () => service.now(),
    setTimer(delayMs, fire, options) {
      if (options?.background) return systemClock.setTimer(delayMs, fire, options);
      const due = service.now() + delayMs;
      const timer = setTimeout(async () => {
        await service.advance(Math.max(0, Math.ceil(due - service.now())));
        fire();
      }, Math.max(0, delayMs) / speed);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
