import { openShowrunner, type Showrunner } from "../../src/index.ts";
import { CrashInjector } from "../../src/testing/crash-injector.ts";
import { during, type FakeShow } from "./fake-showrunner.ts";

/** A simulated process, which may die at a boundary; nothing in it continues after its death. */
export interface MortalProcess {
  readonly show: Showrunner;
  /** Sets a timer of this process, which does not fire after the process has died. */
  setTimer(delayMs: number, fire: () => void): void;
  /** Runs until the work has ended or the process has died, and then ends the process. `stepMs` as in `during`. */
  live(work: Promise<unknown>, stepMs?: number): Promise<void>;
}

export async function mortalProcess(world: FakeShow, dieAt: number): Promise<MortalProcess> {
  const { paidService, journal, clock, mediaDir } = world;
  const injector = new CrashInjector(dieAt);
  let isDead = false;
  const setTimer = (delayMs: number, fire: () => void) => clock.setTimer(delayMs, () => isDead || fire());
  const show = await openShowrunner({
    client: paidService.client(injector.boundary),
    journal: injector.store(journal),
    mediaDir,
    clock: { now: () => clock.now(), setTimer },
    notify: false,
  });
  return {
    show,
    setTimer,
    async live(work, stepMs) {
      work.catch(() => {});
      await during(clock, Promise.race([work, injector.died]), stepMs);
      isDead = true;
    },
  };
}
