import { join } from "node:path";
import { inspect } from "node:util";
import { createClient } from "../core/api/index.ts";
import { rehearsal } from "../core/engine/index.ts";
import { traitsOf } from "../core/plan/index.ts";
import { loadRun } from "../core/view/index.ts";
import { type JournalStore, openShowrunner, type RunResult, type Showrunner } from "../index.ts";
import type { CrashInjector } from "./crash-injector.ts";
import type { Surroundings } from "./surroundings.ts";

export interface Remains {
  readonly journal: JournalStore;
  readonly folder: string;
}

export async function openProcess(
  { service, dispatcher, clock, chat, families, providers }: Surroundings,
  { journal, folder }: Remains,
  injector?: CrashInjector,
): Promise<Showrunner> {
  const processClock = injector?.clock(clock) ?? clock;
  const { baseUrl, apiKey } = service;
  const client = createClient({
    baseUrl,
    apiKey,
    clock: processClock,
    dispatcher: injector?.dispatcher(dispatcher) ?? dispatcher,
  });
  const scripted: typeof client.chat = async (request, options) => {
    const answer = await client.chat(request, options);
    const content = chat?.(request);
    return content === undefined ? answer : { ...answer, content };
  };
  return openShowrunner({
    client: { ...client, chat: scripted },
    journal: injector?.store(journal) ?? journal,
    mediaDir: join(folder, "media"),
    clock: processClock,
    families,
    providers: providers ?? rehearsal(baseUrl),
    env: {},
  });
}

/** A step that is waiting for a person. */
export interface WaitingStep {
  readonly path: string;
  /** The pipeline's question, or null if it has none. */
  readonly message: string | null;
  /** True if the person must pick one of the results, and false if the person must approve or reject the step. */
  readonly isChoice: boolean;
}

/** A person's decision: to approve, to reject, or to pick the result with this index, counted from 0. */
export type Decision = "approve" | "reject" | { readonly pick: number };

/** Returns the decision on a waiting step. */
export type Decide = (step: WaitingStep) => Decision | Promise<Decision>;

/** Approves everything and picks the first option. */
export const approveAll: Decide = ({ isChoice }) => (isChoice ? { pick: 0 } : "approve");

export async function decideWaiting(
  showrunner: Showrunner,
  journal: JournalStore,
  { id, report }: RunResult,
  decide: Decide,
): Promise<void> {
  const { planned } = await loadRun(journal, id);
  const steps = new Map(planned.plan.steps.map((step) => [step.path, step]));
  for (const { path, status } of report.steps) {
    const step = steps.get(path);
    const asked = status === "awaiting-approval" && step !== undefined ? traitsOf(step).decision : null;
    if (asked === null) continue;
    const decision: unknown = await decide({ path, message: asked.message, isChoice: asked.choose });
    if (decision === "reject") await showrunner.reject(id, path);
    else if (asked.choose && isPick(decision)) await showrunner.approve(id, path, { pick: decision.pick });
    else if (!asked.choose && decision === "approve") await showrunner.approve(id, path);
    else throw notADecision(path, decision, asked.choose);
  }
}

function isPick(decision: unknown): decision is { readonly pick: number } {
  return typeof decision === "object" && decision !== null && "pick" in decision && Number.isInteger(decision.pick);
}

/**
 * Returns the error for an invalid decision. The types rule out invalid decisions, but test runners strip types without
 * checking them.
 */
function notADecision(path: string, decision: unknown, isChoice: boolean): TypeError {
  const forms = isChoice ? '"reject" or a pick such as { pick: 0 }' : '"approve" or "reject"';
  return new TypeError(`decide: for ${path}, it must return ${forms}, not ${inspect(decision)}.`);
}
