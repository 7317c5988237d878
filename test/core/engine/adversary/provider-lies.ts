import type { RequestKind } from "./troubles.ts";

/** A provider's response to any request, in the shapes of AI SDK's specification. */
export interface ProviderAnswer {
  readonly [field: string]: unknown;
}

interface Lie {
  readonly on: readonly RequestKind[];
  alter(answer: ProviderAnswer, media: { readonly empty: unknown; readonly other: unknown }): unknown;
}

/** Replaces the media in a response. */
function withMedia(answer: ProviderAnswer, one: unknown): ProviderAnswer {
  if ("images" in answer) return { ...answer, images: (answer.images as readonly unknown[]).map(() => one) };
  if ("audio" in answer) return { ...answer, audio: one };
  if (!("videos" in answer)) return answer;
  return { ...answer, videos: [{ type: "binary", data: one, mediaType: "video/mp4" }] };
}

const both = ["generate", "operation"] as const;
const completed = (answer: ProviderAnswer) => ({ ...answer, status: "completed" });
const cost = (said: unknown): Lie => ({
  on: both,
  alter: (answer) => ({ ...answer, providerMetadata: { gateway: { cost: said } } }),
});
const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

/** Incomplete or false responses. {@link denials} names the responses that deny a work. */
const lies = {
  "no answer at all": { on: both, alter: () => undefined },
  "no media": { on: ["generate"], alter: ({ images: _i, audio: _a, videos: _v, ...rest }) => rest },
  "empty media": { on: both, alter: (answer, { empty }) => withMedia(answer, empty) },
  "media of another kind": { on: both, alter: (answer, { other }) => withMedia(answer, other) },
  "no operation": { on: ["generate"], alter: ({ operation: _, ...rest }) => rest },
  "an operation without end": {
    on: ["generate"],
    alter: (answer) => ("operation" in answer ? { ...answer, operation: cyclic } : answer),
  },
  "an operation of a megabyte": {
    on: ["generate"],
    alter: (answer) => ("operation" in answer ? { ...answer, operation: "x".repeat(2 ** 20) } : answer),
  },
  "completed with nothing": { on: ["operation"], alter: (answer) => ({ ...completed(answer), videos: [] }) },
  "completed without a list": { on: ["operation"], alter: ({ videos: _, ...answer }) => completed(answer) },
  "completed elsewhere": {
    on: ["operation"],
    alter: (answer) => ({ ...completed(answer), videos: [{ type: "uploaded", mediaType: "video/mp4" }] }),
  },
  "under way again": { on: ["operation"], alter: () => ({ status: "pending" }) },
  "an error": { on: ["operation"], alter: () => ({ status: "error", error: "it failed, it says" }) },
  "an error of moderation": {
    on: ["operation"],
    alter: () => ({ status: "error", error: "flagged as sensitive (E005)" }),
  },
  // What some packages make of a question that failed: `http` is what came below them.
  "an error that is an outage": {
    on: ["operation"],
    alter: () => ({ status: "error", error: "Service Unavailable", http: 503 }),
  },
  "an error that is a lost connection": {
    on: ["operation"],
    alter: () => ({ status: "error", error: "Cannot connect to API", http: null }),
  },
  "an error without words": { on: ["operation"], alter: () => ({ status: "error" }) },
  "a status of its own": { on: ["operation"], alter: () => ({ status: "on hold" }) },
  "a cost below zero": cost("-1"),
  "a cost that is no number": cost({ usd: "much" }),
} as const satisfies Readonly<Record<string, Lie>>;

export type ProviderLie = keyof typeof lies;

/** Lies that deny a paid work, so that nobody can obtain it. */
const denials: ReadonlySet<ProviderLie> = new Set(["an error", "an error of moderation", "an error without words"]);
/** Lies about media that are also denials if the response cannot be requested again. */
const onceOnly: ReadonlySet<ProviderLie> = new Set(["empty media", "media of another kind"]);

export function isDenial(name: ProviderLie, kind: RequestKind): boolean {
  return denials.has(name) || (kind === "generate" && onceOnly.has(name));
}

export function providerLiesOf(kind: RequestKind): readonly ProviderLie[] {
  return (Object.keys(lies) as ProviderLie[]).filter((name) => (lies[name] as Lie).on.includes(kind));
}

export function lied(
  name: ProviderLie,
  answer: ProviderAnswer,
  media: { readonly empty: unknown; readonly other: unknown },
): unknown {
  return (lies[name] as Lie).alter(answer, media);
}
