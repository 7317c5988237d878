import { createHash } from "node:crypto";
import { greyPng, plainWav } from "../../../../src/core/kit/placeholder-media.ts";
import type { GenerateStep } from "../../../../src/core/plan/kinds/generate.ts";
import type { MediaKind } from "../../../../src/core/plan/plan.ts";
import { TINY_MP4 } from "../../../support/tiny-media.ts";

/** Possible outcomes of a work that a provider accepted. */
export const fates = [
  ...(["made", "slow", "at an address", "never ends"] as const),
  ...(["fails", "fails after a day", "is flagged", "empty"] as const),
] as const;
export type Fate = (typeof fates)[number];

/** A work that a provider accepted. */
export interface Work {
  readonly id: string;
  readonly step: string;
  /** Key of the intent in the journal, even if it was not sent. */
  readonly key: string;
  readonly kind: MediaKind;
  readonly outputs: number;
  readonly isStarted: boolean;
  readonly doneAt: number;
  /** Charged amount; 0 if the work fails. */
  readonly costMicros: number;
  /** Amount charged above the maximum cost in the pipeline. */
  readonly excessMicros: number;
  readonly isCostTold: boolean;
  readonly fate: Fate;
}

const RENDER_MS = 2_000;
const SLOW_MS = 130 * 60_000;
const DAY_MS = 26 * 3_600_000;
/** Duration of each response about an operation that takes hours, so that the operation is polled rarely. */
const LONG_ANSWER_MS = 2 * 3_600_000;
const HEADS = { image: greyPng(64), audio: plainWav(500), video: TINY_MP4 } as const;

/** Honest providers in memory. Troubles between them and their clients are simulated elsewhere. */
export class Providers {
  readonly works = new Map<string, Work>();
  readonly worksByKey = new Map<string, string[]>();
  /** Outcomes of the next works. */
  nextFates: Fate[] = [];
  readonly #now: () => number;
  readonly #pass: (ms: number) => void;
  readonly #asked = new Map<string, number>();
  readonly #host: string;

  constructor(options: { readonly now: () => number; readonly pass: (ms: number) => void; readonly host: string }) {
    this.#now = options.now;
    this.#pass = options.pass;
    this.#host = options.host;
  }

  /** Accepts a request. A request with a known key starts no new work. */
  take(
    plan: GenerateStep,
    key: string,
    how: { readonly isStarted: boolean; readonly costs: number; readonly isKeyed: boolean },
  ): Work {
    const known = how.isKeyed ? this.workOfKey(key) : null;
    if (known !== null) return known;
    const fate = this.#fate(how.isStarted);
    const most = plan.policy.maxCostMicros!;
    const costMicros = isFailure(fate) ? 0 : Math.round(most * how.costs);
    const lasts = fate === "fails after a day" ? DAY_MS : fate === "slow" ? SLOW_MS : RENDER_MS;
    const work: Work = {
      ...{ id: `work-${this.works.size + 1}`, step: plan.path, key, kind: plan.yields, outputs: plan.outputs },
      ...{ isStarted: how.isStarted, fate, costMicros, excessMicros: Math.max(0, costMicros - most) },
      isCostTold: plan.provider === "gateway",
      doneAt: fate === "never ends" ? Number.POSITIVE_INFINITY : this.#now() + (how.isStarted ? lasts : 0),
    };
    this.works.set(work.id, work);
    this.worksByKey.set(key, [...(this.worksByKey.get(key) ?? []), work.id]);
    return work;
  }

  /** The outcome of the next work. Only a started operation can last long. */
  #fate(isStarted: boolean): Fate {
    const fate = this.nextFates.shift() ?? "made";
    return isStarted || fate === "fails" || fate === "is flagged" || fate === "empty" ? fate : "made";
  }

  workOfKey(key: string): Work | null {
    const id = this.worksByKey.get(key)?.at(-1);
    return id === undefined ? null : this.works.get(id)!;
  }

  /** True if the work has a paid result. */
  isMade({ fate }: Work): boolean {
    return !isFailure(fate) && fate !== "never ends";
  }

  answer(work: Work): { readonly [field: string]: unknown } {
    const { kind, outputs, costMicros, isCostTold, fate } = work;
    const media = Array.from({ length: fate === "empty" ? 0 : outputs }, (_, index) => Providers.bytesOf(work, index));
    const cost = (costMicros / 1_000_000).toFixed(6);
    const told = isCostTold ? { providerMetadata: { gateway: { cost } } } : {};
    if (kind === "image") return { images: media, warnings: [], ...told };
    if (kind === "audio") return { audio: media[0] ?? new Uint8Array(), warnings: [], ...told };
    const videos = media.map((data, index) =>
      fate === "at an address"
        ? { type: "url", url: `https://${this.#host}/${work.id}/${index}`, mediaType: "video/mp4" }
        : { type: "binary", data, mediaType: "video/mp4" },
    );
    return { videos, warnings: [], ...told };
  }

  status(id: string): { readonly [field: string]: unknown } {
    const work = this.works.get(id);
    if (work === undefined) return { status: "error", error: "no such operation" };
    const asked = (this.#asked.get(id) ?? 0) + 1;
    this.#asked.set(id, asked);
    if (work.doneAt - this.#now() > LONG_ANSWER_MS && asked > 2) this.#pass(LONG_ANSWER_MS);
    if (this.#now() < work.doneAt) return { status: "pending" };
    if (work.fate === "is flagged") return { status: "error", error: "flagged as sensitive (E005)" };
    if (work.fate === "fails" || work.fate === "fails after a day") return { status: "error", error: "it failed" };
    return { status: "completed", ...this.answer(work) };
  }

  /** The file at an address, or null. */
  file(url: string): Uint8Array | null {
    const [, id, index] = new URL(url).pathname.split("/");
    const work = this.works.get(id!);
    return work === undefined ? null : Providers.bytesOf(work, Number(index));
  }

  static bytesOf(work: Work, index: number): Uint8Array {
    return Buffer.concat([HEADS[work.kind], Buffer.from(`${work.id} for ${work.step}, output ${index}`)]);
  }

  /** The bytes that a person downloads from an account. */
  static givenBytes(kind: MediaKind): Uint8Array {
    return Buffer.concat([HEADS[kind], Buffer.from("taken from the account")]);
  }

  static hashOf(work: Work, index: number): string {
    return createHash("sha256").update(Providers.bytesOf(work, index)).digest("hex");
  }

  static givenHash(kind: MediaKind): string {
    return createHash("sha256").update(Providers.givenBytes(kind)).digest("hex");
  }

  static otherThan(kind: MediaKind): Uint8Array {
    return kind === "audio" ? HEADS.image : HEADS.audio;
  }
}

function isFailure(fate: Fate): boolean {
  return fate === "fails" || fate === "fails after a day" || fate === "is flagged" || fate === "empty";
}
