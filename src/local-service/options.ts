import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Families, FamiliesError, type FamiliesOption, readFamilies } from "../core/families/index.ts";
import { DAY_MS, HOUR_MS } from "../core/kit/duration.ts";
import { reachOf } from "../core/network/address-guard.ts";
import { isScope, type RateLimit, SCOPES, type Scope } from "./access/authenticate.ts";
import { LocalServiceError } from "./errors.ts";
import { type FaultsOption, type LoadedFaults, loadFaults } from "./faults/rules.ts";
import { micros } from "./money.ts";
import type { Renderer } from "./render/contract.ts";
import { type Recording, readRecording } from "./replay/recording.ts";
import { MODERATION_TRIGGERS } from "./validate/problems.ts";

/** An API key that is created when the service first starts. */
export interface KeyOption {
  readonly keyId: string;
  readonly secret: string;
  /** Scopes of the key. Default: every scope. */
  readonly scopes?: readonly Scope[];
  /** Workspace of the key. Default: `workspace_local`, the only workspace with initial funds. */
  readonly workspaceId?: string;
  /** Owner of the key. Default: `owner_local`. */
  readonly ownerId?: string;
}

/**
 * What the service returns when it estimates a job of unknown cost: a cost of null, a cost of zero, no cost field, or
 * 400 FAILED_PRECONDITION.
 */
export type UnquotableCost = "null" | "zero" | "omit" | "refuse";

/** The API version that the service implements: 3.9 or, with `today`, the current version. */
export type AsOf = "3.9" | "today";

/** A recording that the service replays. */
export interface ReplayOption {
  /** Folder written by `showrunner record`. */
  readonly folder: string;
  /**
   * How fast jobs run. `fast`: each request moves the job forward. `real`: jobs take as long as when recorded. Default:
   * `fast`.
   */
  readonly speed?: "fast" | "real";
  /** Whether the local service handles requests that the recording lacks. If false, they get a 404. Default: false. */
  readonly orLocal?: boolean;
}

/** Options for `startLocalService`. */
export interface LocalServiceOptions {
  /** Port to listen on. Default: 0, any free port. */
  readonly port?: number;
  /** Address to bind. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Folder for the database and the media, created if missing. Default: a temporary folder, removed at `close`. */
  readonly dataDir?: string;
  /** Initial balance of the first workspace in a new data folder, in dollars. Default: 25. */
  readonly balance?: number;
  /** Initial keys, as objects or as `"ID:SECRET"`. Default: one key, generated at the first start and stored. */
  readonly keys?: readonly (string | KeyOption)[];
  /** Limit on requests per key in a time window. Default: 600 in 60,000 ms. */
  readonly rateLimit?: RateLimit;
  /** Maximum number of jobs rendered at the same time. Default: 8, or 64 with the stub renderer. */
  readonly maxRunning?: number;
  /** Simulated times are divided by this number. Default: 4, or `Infinity` with the stub renderer. */
  readonly speed?: number;
  /** How long outputs are kept after the job is submitted, in milliseconds. Default: 24 hours. */
  readonly retentionMs?: number;
  /** How long a download URL is valid, in milliseconds. Reading the job again returns a new URL. Default: 1 hour. */
  readonly urlLifeMs?: number;
  /** Models that replace the built-in models: the path of a JSON file, or the parsed JSON. */
  readonly catalog?: string | readonly unknown[];
  /** Answers like a hosted service, with one fixed message for each kind of error. Default: false. */
  readonly strict?: boolean;
  /** Model families that extend or replace the built-in ones: the path of a JSON file, or the parsed JSON. */
  readonly families?: FamiliesOption;
  /** The published version of the API that the service implements. Default: `today`. */
  readonly asOf?: AsOf;
  /** Allows requests for models, schemas and voices without a credential. Default: the value of `strict`. */
  readonly openCatalog?: boolean;
  /** How an estimate shows a cost that is not known in advance. Default: `null`, or `refuse` with `strict`. */
  readonly unquotableCost?: UnquotableCost;
  /** Word used in the `X-<Brand>-…` headers. Default: `Studio`. */
  readonly brand?: string;
  /**
   * How outputs are made. `real` renders images, videos and speech. `stub` immediately writes tiny valid media.
   * Default: `real`.
   */
  readonly renderer?: "real" | "stub" | Renderer;
  /** Largest upload, in bytes. Default: 1 GiB. */
  readonly maxUploadBytes?: number;
  /** Words, in lower case, that make the service refuse a prompt with 422. Default: `moderation-refused`. */
  readonly moderationTriggers?: readonly string[];
  /**
   * Allows webhooks and log drains to send to this machine. Default: true if `host` is a loopback address and `strict`
   * is false.
   */
  readonly deliverToLoopback?: boolean;
  /** Timeout for requests to webhooks and log drains, in real milliseconds. Default: 10,000. */
  readonly deliveryTimeoutMs?: number;
  /** Initial faults: rules, or the path of a JSON file with rules. Default: none. */
  readonly faults?: FaultsOption;
  /** The recording to replay. Uploads, keys and webhooks are not replayed. Default: none. */
  readonly replay?: ReplayOption;
  /** Called with each unexpected error. Default: errors are written to stderr. */
  readonly onDefect?: (error: unknown, traceId: string) => void;
}

export type NormalKey = Required<Omit<KeyOption, "scopes">> & { readonly scopes: readonly Scope[] | null };

export interface NormalOptions
  extends Required<Omit<LocalServiceOptions, "balance" | "keys" | "catalog" | "families" | "faults" | "replay">> {
  readonly isTemporary: boolean;
  readonly balanceMicros: number;
  readonly keys: readonly NormalKey[];
  readonly catalog: string | readonly unknown[] | null;
  readonly families: Families;
  readonly faults: LoadedFaults;
  readonly replay: (Required<Omit<ReplayOption, "folder">> & { readonly recording: Recording }) | null;
}

export const FIRST_WORKSPACE = "workspace_local";
export const FIRST_OWNER = "owner_local";

const UNQUOTABLE_COSTS: readonly UnquotableCost[] = ["null", "zero", "omit", "refuse"];
const KEY_ID = /^[A-Za-z0-9_.-]{1,100}$/;
const BRAND = /^[A-Za-z][A-Za-z0-9]{0,30}$/;

const wrong = (text: string) => new LocalServiceError("OPTION_INVALID", text);

function checked(name: string, value: number, least: number, most: number): number {
  if (value >= least && value <= most) return value;
  throw wrong(`${name} is ${value}; use a number from ${least} to ${most}.`);
}

function parseKey(key: string | KeyOption): KeyOption {
  if (typeof key !== "string") return key;
  const colon = key.indexOf(":");
  if (colon < 1) throw wrong("A key must have the form ID:SECRET.");
  return { keyId: key.slice(0, colon), secret: key.slice(colon + 1) };
}

function normalKey(option: string | KeyOption): NormalKey {
  const key = parseKey(option);
  if (!KEY_ID.test(key.keyId)) throw wrong("A key's id must be 1 to 100 letters, digits, dots, dashes or underscores.");
  if (key.secret.length === 0 || /\s/.test(key.secret))
    throw wrong(`The secret of key ${key.keyId} is empty or contains spaces.`);
  const unknown = key.scopes?.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw wrong(`Key ${key.keyId} has the unknown scope ${unknown}. Use: ${SCOPES.join(", ")}.`);
  return {
    keyId: key.keyId,
    secret: key.secret,
    scopes: key.scopes ?? null,
    workspaceId: key.workspaceId ?? FIRST_WORKSPACE,
    ownerId: key.ownerId ?? FIRST_OWNER,
  };
}

function families(given: FamiliesOption | undefined): Families {
  try {
    return readFamilies(given);
  } catch (cause) {
    if (!(cause instanceof FamiliesError)) throw cause;
    throw new LocalServiceError("FAMILIES_INVALID", cause.message, { cause });
  }
}

function choice<T extends string>(name: string, given: T, words: readonly T[]): T {
  if (words.includes(given)) return given;
  const [last, ...others] = words.map((word) => JSON.stringify(word)).reverse();
  throw wrong(`${name} is ${JSON.stringify(given)}; use ${others.reverse().join(", ")} or ${last}.`);
}

function replayOf(option: ReplayOption | undefined): NormalOptions["replay"] {
  if (option === undefined) return null;
  const { folder, speed = "fast", orLocal = false } = option;
  choice("replay.speed", speed, ["fast", "real"]);
  return { recording: readRecording(folder), speed, orLocal };
}

function reportDefect(error: unknown, traceId: string): void {
  process.stderr.write(`local service: unexpected error (trace ${traceId || "none"}): ${String(error)}\n`);
}

export function normalize(options: LocalServiceOptions): NormalOptions {
  const isStub = options.renderer === "stub";
  const strict = options.strict ?? false;
  const host = options.host || "127.0.0.1";
  const isLoopback = host === "localhost" || reachOf(host) === "loopback";
  const { requests, windowMs } = options.rateLimit ?? { requests: 600, windowMs: 60_000 };
  if (!BRAND.test(options.brand ?? "Studio")) throw wrong("The brand must be one word of letters and digits.");
  return {
    port: checked("port", options.port ?? 0, 0, 65_535),
    host,
    isTemporary: options.dataDir === undefined,
    balanceMicros: micros(checked("balance", options.balance ?? 25, 0, 1_000_000_000)),
    keys: (options.keys ?? []).map(normalKey),
    rateLimit: {
      requests: checked("rateLimit.requests", requests, 1, 1e9),
      windowMs: checked("rateLimit.windowMs", windowMs, 1, 1e9),
    },
    maxRunning: checked("maxRunning", options.maxRunning ?? (isStub ? 64 : 8), 1, 100_000),
    speed: checked("speed", options.speed ?? (isStub ? Number.POSITIVE_INFINITY : 4), 1e-6, Number.POSITIVE_INFINITY),
    retentionMs: checked("retentionMs", options.retentionMs ?? DAY_MS, 0, Number.MAX_SAFE_INTEGER),
    urlLifeMs: checked("urlLifeMs", options.urlLifeMs ?? HOUR_MS, 0, Number.MAX_SAFE_INTEGER),
    catalog: options.catalog ?? null,
    strict,
    asOf: choice("asOf", options.asOf ?? "today", ["3.9", "today"]),
    families: families(options.families),
    openCatalog: options.openCatalog ?? strict,
    unquotableCost: choice("unquotableCost", options.unquotableCost ?? (strict ? "refuse" : "null"), UNQUOTABLE_COSTS),
    brand: options.brand ?? "Studio",
    renderer: options.renderer ?? "real",
    maxUploadBytes: checked("maxUploadBytes", options.maxUploadBytes ?? 2 ** 30, 1, 2 ** 40),
    moderationTriggers: options.moderationTriggers ?? MODERATION_TRIGGERS,
    deliverToLoopback: options.deliverToLoopback ?? (!strict && isLoopback),
    deliveryTimeoutMs: checked("deliveryTimeoutMs", options.deliveryTimeoutMs ?? 10_000, 1, 600_000),
    faults: loadFaults(options.faults ?? []),
    replay: replayOf(options.replay),
    onDefect: options.onDefect ?? reportDefect,
    // The folder is created last, so that an invalid option leaves no folder behind.
    dataDir: options.dataDir ?? mkdtempSync(join(tmpdir(), "showrunner-local-")),
  };
}
