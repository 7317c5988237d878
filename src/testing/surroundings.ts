import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClockControl, FaultRule, LocalService, LocalServiceOptions } from "showrunner-local";
import { Agent, type Dispatcher } from "undici";
import { type ChatRequest, type Clock, systemClock } from "../core/api/index.ts";
import type { FamiliesOption } from "../core/families/index.ts";
import { loadLocalService } from "../core/kit/load-local-service.ts";
import type { OpenOptions } from "../index.ts";

/**
 * How time passes in a studio. `short`: waits take a hundredth of their duration, and everything else takes no time.
 * `manual`: time stands still until {@link Studio.advance} is called.
 */
export type StudioTime = "short" | "manual";

/** Options for `startStudio`. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /**
   * Faults that the service simulates. Each run of `assertSurvivesKills` starts with the same faults. Default: none.
   */
  readonly faults?: readonly FaultRule[];
  /** The wallet's balance in dollars. Default 1,000. */
  readonly balance?: number;
  /** How time passes. Default `short`. */
  readonly time?: StudioTime;
  /**
   * Returns the answer to a chat request, or undefined to let the service answer. Either way, the request is charged as
   * usual.
   */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * For each kind of step that calls a provider's model, such as `generate`, a function that returns the model to call
   * instead. Tests can return a model that responds or fails as they need. Default: the local service makes media of
   * the right kind, size and length, and no provider is called.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

const SPEED = 100;

export interface Surroundings {
  readonly service: Pick<LocalService, "baseUrl" | "apiKey">;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly chat: ((request: ChatRequest) => string | undefined) | undefined;
  readonly families: FamiliesOption | undefined;
  readonly providers: StudioOptions["providers"];
}

export interface TestService extends Surroundings, AsyncDisposable {
  readonly service: LocalService;
  readonly folder: string;
}

export async function startTestService({ time, chat, providers, ...given }: StudioOptions): Promise<TestService> {
  const { startLocalService } = await loadLocalService();
  const folder = await fastFolder("showrunner-test-");
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  let service: LocalService;
  try {
    service = await startLocalService({
      renderer: "stub",
      rateLimit: RATE_LIMIT,
      balance: DEFAULT_BALANCE,
      ...given,
      dataDir: join(folder, "service"),
    });
  } catch (error) {
    await removeFolder();
    throw error;
  }
  const { clock } = service;
  clock.manual();
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    service,
    dispatcher,
    folder,
    clock: time === "manual" ? clockOf(clock) : shortWaits(clock),
    chat,
    providers,
    families: given.families,
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      await service.close();
      await removeFolder();
    },
  };
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

/**
 * Returns a clock that shortens waits. Each wait takes `1 / SPEED` of its duration, then the service's clock moves to
 * the end of the full wait.
 */
function shortWaits(service: ClockControl): Clock {
  return {
    now: () => service.now(),
    setTimer(delayMs, fire, options) {
      if (options?.background) return systemClock.setTimer(delayMs, fire, options);
      const due = service.now() + delayMs;
      const timer = setTimeout(async () => {
        await service.advance(Math.max(0, Math.ceil(due - service.now())));
        fire();
      }, Math.max(0, delayMs) / SPEED);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
