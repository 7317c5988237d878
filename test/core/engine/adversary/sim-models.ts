import type { GenerateModel, GenerateStep } from "../../../../src/core/plan/kinds/generate.ts";
import { apiCallError } from "../../../support/mock-models.ts";
import { lied, type ProviderAnswer } from "./provider-lies.ts";
import { Providers, type Work } from "./providers.ts";
import { isProviderRefusal, type Trouble } from "./troubles.ts";

/** The connection between a process and the providers. */
export interface ProviderWire {
  boundary(point: string): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** Records a sent request, and returns its trouble, or null. */
  asks(plan: GenerateStep, kind: "generate" | "operation", key: string | null): Trouble | null;
  /** Lets the provider accept the request. */
  takes(plan: GenerateStep, isStarted: boolean): Work;
  status(id: string): ProviderAnswer;
  answer(work: Work): ProviderAnswer;
  /** Records a lie about a work. */
  lies(says: Trouble & { readonly kind: "lie" }, workId: string, kind: "generate" | "operation"): void;
}

interface CallOptions {
  readonly prompt?: string;
  readonly text?: string;
  readonly headers?: { readonly [name: string]: string };
}

/** Time after which a model stops waiting for a response. */
const SILENCE_MS = 10 * 60_000;

/** The model of a step, in place of the model in the pipeline's code. */
export function simModel(wire: ProviderWire, { provider, modelId }: GenerateModel, plan: GenerateStep): GenerateModel {
  const base = { specificationVersion: "v4", provider, modelId } as const;
  const exchanged = (
    kind: "generate" | "operation",
    options: CallOptions,
    perform: () => { readonly answer: ProviderAnswer; readonly workId: string },
  ) => exchange(wire, plan, { kind, options, perform }) as never;
  const doGenerate = (options: CallOptions) =>
    exchanged("generate", options, () => {
      const work = wire.takes(plan, false);
      return { answer: wire.answer(work), workId: work.id };
    });
  if (plan.yields === "image") return { ...base, maxImagesPerCall: 4, doGenerate };
  if (plan.yields === "audio") return { ...base, doGenerate };
  if (plan.promise === "once") return { ...base, maxVideosPerCall: 1, doGenerate };
  const started = {
    ...base,
    maxVideosPerCall: 1,
    doStart: (options: CallOptions) =>
      exchanged("generate", options, () => {
        const { id } = wire.takes(plan, true);
        return { answer: { operation: { id }, warnings: [] }, workId: id };
      }),
    config: { fetch: answerBelow },
    async doStatus({ operation }: { readonly operation: { readonly id: string } }) {
      const perform = () => ({ answer: wire.status(operation.id), workId: operation.id });
      const answer = await exchange(wire, plan, { kind: "operation", options: {}, perform });
      const { http } = (answer ?? {}) as ProviderAnswer;
      if (http !== undefined) await this.config.fetch(new URL(`https://below.test/${http}`)).catch(() => {});
      return answer as never;
    },
  };
  return started;
}

/** The fetch of a package: it returns the HTTP status that the package hides behind a lie, or fails. */
async function answerBelow(url: URL): Promise<Response> {
  const status = Number(url.pathname.slice(1));
  if (Number.isNaN(status)) throw new TypeError("fetch failed");
  return new Response("{}", { status });
}

async function exchange(
  wire: ProviderWire,
  plan: GenerateStep,
  request: {
    readonly kind: "generate" | "operation";
    readonly options: CallOptions;
    readonly perform: () => { readonly answer: ProviderAnswer; readonly workId: string };
  },
): Promise<unknown> {
  const { kind, options } = request;
  const words = { prompt: options.prompt ?? options.text };
  await wire.boundary(`${kind} ${plan.path}: before`);
  const trouble = wire.asks(plan, kind, options.headers?.["idempotency-key"] ?? null);
  if (trouble?.kind === "unreachable") {
    throw Object.assign(apiCallError(undefined, "Cannot connect to API", kind === "generate" ? words : {}), {
      cause: { code: "ECONNREFUSED" },
    });
  }
  const isServed = trouble === null || !("effect" in trouble) || trouble.effect;
  const honest = isServed ? request.perform() : null;
  await wire.boundary(`${kind} ${plan.path}: after`);
  if (trouble === null || trouble.kind === "half truth") return spoken(honest!.answer);
  switch (trouble.kind) {
    case "late":
      await wire.sleep(trouble.ms);
      return spoken(honest!.answer);
    case "reset":
      throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    case "silence":
      await wire.sleep(SILENCE_MS);
      throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    case "half an answer":
      throw apiCallError(200, "Failed to process successful response", words);
    case "lie":
      wire.lies(trouble, honest!.workId, kind);
      return lied(trouble.says, honest!.answer, { empty: new Uint8Array(), other: Providers.otherThan(plan.yields) });
    case "answer":
      // What is refused after the work was done is a later request of the same call; a failure may be of the first one too.
      throw Object.assign(
        apiCallError(
          trouble.status,
          `said so (${trouble.status})`,
          isServed && (trouble.retryable || isProviderRefusal({ ...trouble, effect: false })) ? {} : words,
        ),
        trouble.code === "MODERATION_FAILED" && { data: { error: { code: "moderation_blocked" } } },
      );
    default:
      return trouble satisfies never;
  }
}

/** Converts a provider's response for a call that waits for the end: a failure becomes a thrown error. */
function spoken(answer: ProviderAnswer): unknown {
  if (answer.failed === true) throw apiCallError(500, "the work failed", {});
  return answer;
}
