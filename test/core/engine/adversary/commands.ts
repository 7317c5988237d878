import fc from "fast-check";
import {
  adoptAll,
  change,
  changeUnsent,
  type Decision,
  decideAll,
  decideAnew,
  drive,
  freeze,
  isDriven,
  type Real,
  raiseBudget,
  rerun,
  setClock,
  tell,
  thaw,
} from "./operate.ts";
import type { PaidJob } from "./paid-service.ts";
import { type Fate, fates } from "./providers.ts";
import { RUN, SECRET } from "./sim-world.ts";
import { type RequestKind, requestKinds, type Trouble, troubleOf, troubleText } from "./troubles.ts";

export type Command = fc.AsyncCommand<object, Real>;

function command(text: string, run: (real: Real) => unknown): Command {
  return {
    check: () => true,
    run: async (_model, real) => void (await run(real)),
    toString: () => text,
    [fc.toStringMethod]: () => text,
  } as Command;
}

/** Trouble for coming requests of a kind. */
export interface Arming {
  readonly on: RequestKind | "any";
  readonly trouble: Trouble;
  /** Number of requests of this kind that pass first. Default 0. */
  readonly skip?: number;
  /** Number of requests with trouble. Default 1. */
  readonly times?: number;
}

function armed({ on, trouble, skip = 0, times = 1 }: Arming) {
  return { on, trouble, skip, times };
}

function armingText({ on, skip = 0, times = 1, trouble }: Arming): string {
  return `${times} × ${on}${skip === 0 ? "" : ` after ${skip}`}: ${troubleText(trouble)}`;
}

const goesWrong = (one: Arming) => command(armingText(one), ({ world }) => world.troubles.armed.push(armed(one)));

export interface Resume {
  readonly troubles?: readonly Arming[];
  readonly secret?: string;
  /** Number of boundaries until the process dies; null if it does not die. */
  readonly dieIn?: number | null;
  /** Number of boundaries until other processes may act; null to wait until the run rests. */
  readonly pauseIn?: number | null;
  readonly budgetMicros?: number | null;
}

export function resumes({ troubles = [], budgetMicros = null, ...how }: Resume = {}): Command {
  const { secret = SECRET, dieIn = null, pauseIn = null } = how;
  const key = secret === SECRET ? "" : " with the wrong secret";
  const dies = dieIn === null ? "" : `, dies at boundary ${dieIn}`;
  const pauses = pauseIn === null ? "" : `, others act at boundary ${pauseIn}`;
  const budget = budgetMicros === null ? "" : ` --budget ${budgetMicros}`;
  return command(`resume${budget}${key}${dies}${pauses} [${troubles.map(armingText).join("; ")}]`, (real) => {
    real.world.troubles.armed.push(...troubles.map(armed));
    return drive(real, { secret, dieIn, pauseIn, options: raiseBudget(real.world, budgetMicros) });
  });
}

const reruns = (step: number, request: number, dieIn: number | null) =>
  command(
    `resume --rerun #${step} as request ${request}${dieIn === null ? "" : `, dies at boundary ${dieIn}`}`,
    (real) => rerun(real, step, request, dieIn),
  );

/** Edits a step's prompt, or renames a job in the code if `step` is null. */
export const changes = (how: Parameters<typeof change>[1]): Command =>
  command(
    how.step === null ? "resume with a job renamed" : `resume --edit #${how.step}:prompt="${how.words}"`,
    (real) => change(real, how),
  );

export const changesUnsent = (skip: number, words: string): Command =>
  command(`dies with submit ${skip} unsent, then resume --edit of that: prompt="${words}"`, (real) =>
    changeUnsent(real, { skip, words }),
  );

export const jobFails = (skip: number, failure: PaidJob["failure"]): Command =>
  command(`the next job but ${skip} fails${failure?.retryable === true ? ", retryable" : ""}`, ({ world }) => {
    world.service.nextFailures = [...Array<null>(skip).fill(null), failure];
  });

const jobsCost = (skip: number, times: number) =>
  command(`from the next job but ${skip} on, jobs cost ${times} times their quotes`, ({ world }) => {
    world.service.nextCharges = [...Array<number>(skip).fill(1), times];
  });

export const worksFare = (skip: number, fate: Fate, times = 1): Command =>
  command(`${times} × the next work of a provider but ${skip}: ${fate}`, ({ world }) => {
    world.providers.nextFates = [...Array<Fate>(skip).fill("made"), ...Array<Fate>(times).fill(fate)];
  });

export const passes = (minutes: number): Command =>
  command(`${minutes} minutes pass`, ({ world }) => {
    world.time.now += minutes * 60_000;
  });

const capRises = (micros: number) =>
  command(`the cap is raised to ${micros}`, ({ world }) => {
    if (world.capMicros !== null) world.capMicros = Math.max(micros, world.capMicros);
  });

const fundsComeIn = command("funds come in", ({ world }) => {
  world.service.balanceMicros += 300_000;
});

const decides = (approves: boolean) => command(approves ? "approve" : "reject", (real) => decideAll(real, approves));

export const decidesAnew = (word: Decision): Command =>
  command(`${word}, whatever was decided`, (real) => decideAnew(real, word));

export const pricesMove = (factor: number): Command =>
  command(`prices are ${factor} times what they were`, ({ world }) => world.movePrices(factor));

export const clockIsSet = (minutes: number): Command =>
  command(`the driver's clock is set ahead by ${minutes} minutes`, (real) => setClock(real, minutes * 60_000));

const adopts = (isTrue: boolean) =>
  command(isTrue ? "adopt" : "adopt none", ({ world }) => adoptAll(world, { isTrue, isCalm: false }));

/** Adopts nothing, then the truth. If no process has read the first decision, only the last one is effective. */
const adoptsInPairs = command("adopt none, then adopt", async (real) => {
  const { world } = real;
  const before = new Set(world.givenUp);
  await adoptAll(world, { isTrue: false, isCalm: false });
  const isTaken = await adoptAll(world, { isTrue: true, isCalm: false });
  if (isDriven(real) || real.frozen.length > 0) return;
  for (const key of isTaken) if (!before.has(key)) world.givenUp.delete(key);
});

const stops = command("stop", ({ world }) => tell(world, (show) => show.stop(RUN)));

const resumesToo = command("another process resumes too", async (real) => {
  real.world.changing = null;
  if (isDriven(real)) await tell(real.world, async (show) => (await show.resume(RUN)).result());
});

const few = fc.nat(3);
const dieIn = fc.option(fc.nat(60), { freq: 2, nil: null });
const anyKind = fc.constantFrom(...requestKinds);
const aims = fc.oneof(fc.constantFrom<RequestKind | "any">("submit", "submit", "submit", "job", "any"), anyKind);
const aimsElsewhere = fc.oneof(
  fc.constantFrom<RequestKind | "any">("generate", "generate", "operation", "operation", "submit", "any"),
  anyKind,
);

const armingOf = (on: fc.Arbitrary<RequestKind | "any">): fc.Arbitrary<Arming> =>
  on.chain((aim) =>
    fc.record({
      on: fc.constant(aim),
      skip: few,
      times: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 9 })),
      trouble: troubleOf(aim),
    }),
  );

const resumeWith = (arming: fc.Arbitrary<Arming>) =>
  fc
    .record({
      troubles: fc.array(arming, { maxLength: 4, size: "max" }),
      secret: fc.constantFrom(SECRET, SECRET, SECRET, SECRET, "wrong"),
      dieIn,
      pauseIn: fc.option(fc.nat(30), { freq: 3, nil: null }),
      budgetMicros: fc.constantFrom(null, null, null, 200_000, 1_000_000),
    })
    .map(resumes);

const changed = fc
  .record({
    step: fc.option(few, { freq: 4, nil: null }),
    words: fc.constantFrom("a changed look", "one more", "a cat"),
    dieIn,
    pauseIn: fc.option(fc.nat(30), { freq: 3, nil: null }),
  })
  .map(changes);

const often = fc.oneof(
  { weight: 2, arbitrary: changed },
  fc.nat(2).map((skip) => changesUnsent(skip, "a changed look")),
  fc.record({ step: few, request: fc.nat(1), dieIn }).map((how) => reruns(how.step, how.request, how.dieIn)),
  fc.constantFrom(true, true, true, false).map(decides),
  fc.constantFrom<Decision>("pick 0", "pick 1", "pick 1", "reject", "approve").map(decidesAnew),
  fc.constantFrom(10, 10, 2, 1, 0.5, 0).map(pricesMove),
  fc.constantFrom(1, 30, 180, 1_500, 3_000).map(passes),
);

const seldom = fc.oneof(
  fc
    .record({ skip: few, retryable: fc.boolean(), code: fc.constantFrom("INTERNAL", "MODERATION_FAILED") })
    .map(({ skip, ...failure }) => jobFails(skip, failure)),
  fc.record({ skip: few, times: fc.constantFrom(2, 1.5, 0.5) }).map(({ skip, times }) => jobsCost(skip, times)),
  fc.constantFrom(5, -5, 90, -90, 1_500).map(clockIsSet),
  fc.constantFrom(
    ...[
      stops,
      resumesToo,
      adopts(true),
      adopts(false),
      adoptsInPairs,
      capRises(200_000),
      capRises(500_000),
      fundsComeIn,
    ],
    command("the machine of the driver sleeps", freeze),
    command("sleeping machines wake", thaw),
  ),
);

const fares = fc
  .record({ skip: fc.nat(1), fate: fc.constantFrom(...fates), times: fc.constantFrom(1, 1, 3) })
  .map(({ skip, fate, times }) => worksFare(skip, fate, times));

/** Commands of a life. `elsewhere`: for a run that also uses other providers. */
function commandsOf(elsewhere: boolean): fc.Arbitrary<Command> {
  const arming = armingOf(elsewhere ? aimsElsewhere : aims);
  const some = fc.oneof({ weight: 10, arbitrary: seldom }, { weight: 2, arbitrary: arming.map(goesWrong) });
  return fc.oneof(
    { weight: 6, arbitrary: resumeWith(arming) },
    { weight: 2, arbitrary: often },
    { weight: 4, arbitrary: some },
    { weight: elsewhere ? 2 : 0, arbitrary: fares },
  );
}

export const commandsHere = commandsOf(false);
export const commandsElsewhere = commandsOf(true);
