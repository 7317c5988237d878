import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../../../../src/core/journal/events.ts";
import type { GenerateStep } from "../../../../src/core/plan/kinds/generate.ts";
import type { MediaKind } from "../../../../src/core/plan/plan.ts";
import { flaggedIn } from "./flags.ts";
import { isDenial } from "./provider-lies.ts";
import { Providers, type Work } from "./providers.ts";
import { hosts } from "./sim-fetch.ts";
import type { ProviderWire } from "./sim-models.ts";
import type { SimWorld } from "./sim-world.ts";
import { isProviderRefusal, type Trouble, troubleText } from "./troubles.ts";

type Requests = Pick<ProviderWire, "asks" | "takes" | "status" | "answer" | "lies">;

const FLAGGED: Trouble = {
  ...{ kind: "answer", effect: false, status: 422, body: "other json", code: "MODERATION_FAILED" },
  ...{ retryable: false, retryAfter: null },
};

let lastWorld = 0;

/** The providers of a world, and an outside view of the requests to them. */
export class ProviderWorld implements Requests {
  readonly providers: Providers;
  /** Works that their provider denied, or returned as something else in the only response. */
  readonly denied = new Set<string>();
  /** Works about which their provider lied. */
  readonly deceived = new Set<string>();
  /** Keys of intents whose requests certainly had no effect. */
  readonly refused = new Set<string>();
  readonly #world: SimWorld;
  readonly #host = `w${++lastWorld}.provider.test`;
  /** Numbers of durable intents and of sent requests, by key. */
  readonly #intents = new Map<string, number>();
  readonly #requests = new Map<string, number>();
  /** Key of the last intent, by step. */
  readonly #keys = new Map<string, string>();

  constructor(world: SimWorld) {
    this.#world = world;
    const pass = (ms: number) => {
      world.time.now += ms;
    };
    this.providers = new Providers({ now: () => world.time.now, pass, host: this.#host });
    hosts.set(this.#host, (url) => {
      const trouble = world.armedTrouble("address");
      if (trouble !== null && trouble.kind !== "late") return `answered with ${troubleText(trouble)}`;
      return this.providers.file(url) ?? "is nowhere";
    });
  }

  close(): void {
    hosts.delete(this.#host);
  }

  committed(event: RunEvent): void {
    if (event.type !== "job.submit.intended" || event.provider === undefined) return;
    this.#keys.set(event.step, event.key);
    this.#intents.set(event.key, (this.#intents.get(event.key) ?? 0) + 1);
  }

  asks(plan: GenerateStep, kind: "generate" | "operation", header: string | null) {
    const isFlagged = kind === "generate" && flaggedIn(plan.input);
    const isRefused = isFlagged && this.#world.options.flags === "refused";
    const trouble = this.#world.armedTrouble(kind) ?? (isRefused ? FLAGGED : null);
    this.#world.note(() => `${plan.provider} is asked: ${kind} ${plan.path}`);
    if (kind === "operation") return trouble;
    const key = this.#keys.get(plan.path);
    if (key === undefined) this.#world.fail(`${plan.path} was sent without an intent`);
    const requests = (this.#requests.get(key!) ?? 0) + 1;
    this.#requests.set(key!, requests);
    const isKeyed = plan.promise === "keyed";
    if (!isKeyed && requests > this.#intents.get(key!)!) this.#world.fail(`${plan.path} was sent twice for one intent`);
    if (header !== (isKeyed ? key : null)) this.#world.fail(`${plan.path} was sent with the key ${header}`);
    const isNothing = trouble !== null && isProviderRefusal(trouble) && this.providers.workOfKey(key!) === null;
    if (isNothing) this.refused.add(key!);
    return trouble;
  }

  takes(plan: GenerateStep, isStarted: boolean): Work {
    const { providers } = this;
    const key = this.#keys.get(plan.path)!;
    const before = providers.works.size;
    const costs = this.#world.service.charge();
    if (flaggedIn(plan.input) && this.#world.options.flags === "fails") providers.nextFates.unshift("is flagged");
    const work = providers.take(plan, key, { isStarted, costs, isKeyed: plan.promise === "keyed" });
    if (providers.works.size === before) return work;
    this.#world.note(() => `${work.id} is made for ${plan.path}: ${work.fate}`);
    if (providers.worksByKey.get(key)!.length > this.#intents.get(key)!) {
      this.#world.fail(`${plan.path} was made twice for one intent`);
    }
    this.#world.checkMade(null);
    return work;
  }

  status(id: string) {
    return this.providers.status(id);
  }

  answer(work: Work) {
    return work.fate === "fails" || work.fate === "is flagged" ? { failed: true } : this.providers.answer(work);
  }

  lies({ says }: Parameters<ProviderWire["lies"]>[0], workId: string, kind: "generate" | "operation"): void {
    this.deceived.add(workId);
    if (isDenial(says, kind)) this.denied.add(workId);
  }

  /** The paid work that a provider can return for a key; null if there is none. */
  madeOf(key: string): Work | null {
    const work = this.providers.workOfKey(key);
    return work !== null && this.providers.isMade(work) ? work : null;
  }
}

const folder = mkdtempSync(join(tmpdir(), "showrunner-given-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const given = new Map<MediaKind, string>();

/** Path of the file that a person downloads from an account at a provider. */
export function givenFileOf(work: Work): string {
  const known = given.get(work.kind);
  if (known !== undefined) return known;
  const path = join(folder, work.kind);
  writeFileSync(path, Providers.givenBytes(work.kind));
  given.set(work.kind, path);
  return path;
}
