import { DAY_MS } from "./duration.ts";

export interface Deployment {
  readonly title: string;
  readonly baseUrl: string;
  /**
   * Environment variables that may contain the key. The first one that is set is used, otherwise `SHOWRUNNER_API_KEY`.
   */
  readonly keyVariables: readonly string[];
  /** The prefix of the deployment's keys, such as `sk_hedra_`. Not used for keys that contain a colon. */
  readonly keyPrefix?: string;
  /** How long outputs are kept after their job's submission, in milliseconds, unless a response says otherwise. */
  readonly outputsLiveMs: number;
}

export const DEPLOYMENTS = {
  hedra: {
    title: "Hedra",
    baseUrl: "https://api.hedra.com/v3",
    keyVariables: ["HEDRA_API_KEY"],
    keyPrefix: "sk_hedra_",
    outputsLiveMs: DAY_MS,
  },
} as const satisfies Readonly<Record<string, Deployment>>;

/** The name of a hosted service, for `service`, `--service` and `SHOWRUNNER_SERVICE`. */
export type ServiceName = keyof typeof DEPLOYMENTS;

export interface ServiceChoice {
  readonly local?: boolean | undefined;
  readonly service?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
}

export interface HostedService {
  readonly baseUrl: string;
  readonly deployment: Deployment | null;
  readonly apiKey: string | null;
  readonly keyFrom: string;
}

export interface WrongChoice {
  readonly setting: string;
  readonly problem: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the hosted service that the options select. If they select none, returns the one that the environment
 * selects. Null means the local service.
 */
export function chooseService(choice: ServiceChoice, env: Environment): HostedService | WrongChoice | null {
  const { local, service, baseUrl } = choice;
  if (local === true && (service || baseUrl)) {
    const problem = `is set, but ${service ? "service" : "baseUrl"} selects a hosted service; remove one of them.`;
    return { setting: "local", problem };
  }
  if (local === true) return null;
  const given = addressOf(["service", service], ["baseUrl", baseUrl]);
  const address =
    given ??
    addressOf(["SHOWRUNNER_SERVICE", env.SHOWRUNNER_SERVICE], ["SHOWRUNNER_BASE_URL", env.SHOWRUNNER_BASE_URL]);
  if (address === null || typeof address === "object") return address;
  const deployment = deploymentAt(address);
  const variables = [...(deployment?.keyVariables ?? []), "SHOWRUNNER_API_KEY"];
  const keyFrom = choice.apiKey ? "apiKey" : (variables.find((name) => env[name]) ?? variables[0]!);
  return { baseUrl: address, deployment, keyFrom, apiKey: choice.apiKey || env[keyFrom] || null };
}

type Setting = readonly [name: string, value: string | undefined];

function addressOf([nameSetting, name]: Setting, [urlSetting, url]: Setting): string | WrongChoice | null {
  if (!name) return url || null;
  const known = Object.keys(DEPLOYMENTS).join(", ");
  if (!Object.hasOwn(DEPLOYMENTS, name)) {
    const problem = `is not a known service (known: ${known}). For any other service, set ${urlSetting} to its address.`;
    return { setting: nameSetting, problem };
  }
  const { baseUrl } = DEPLOYMENTS[name as ServiceName];
  if (!url || sameAddress(url, baseUrl)) return baseUrl;
  return {
    setting: nameSetting,
    problem: `selects ${baseUrl}, but ${urlSetting} selects another service; remove one of the two settings.`,
  };
}

function deploymentAt(address: string): Deployment | null {
  return Object.values(DEPLOYMENTS).find((known) => sameAddress(known.baseUrl, address)) ?? null;
}

export function outputsLiveMs(baseUrl: string): number {
  return deploymentAt(baseUrl)?.outputsLiveMs ?? DAY_MS;
}

/**
 * Returns the address that was probably meant: the given address cut off after its version, or with `/v3` added if it
 * has no version. Null if the address already ends in a version.
 */
export function likelyAddress(href: string): string | null {
  const given = href.replace(/\/+$/, "");
  const versioned = /^\w+:\/\/[^/]+.*?\/v\d+(?=\/|$)/.exec(given)?.[0] ?? `${given}/v3`;
  return versioned === given ? null : versioned;
}

function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, "") === b.replace(/\/+$/, "");
}

/**
 * Returns the public part of a key: the part before its colon, or a known prefix and some digits of the key's hash.
 * Null if the key has neither a colon nor a known prefix.
 */
export function keyIdOf(apiKey: string): string | null {
  const colon = apiKey.indexOf(":");
  if (colon >= 0) return apiKey.slice(0, colon);
  const prefix = Object.values(DEPLOYMENTS).find(({ keyPrefix }) => apiKey.startsWith(keyPrefix))?.keyPrefix;
  if (prefix === undefined) return null;
  // Every command loads this file when it starts, and an import of crypto would take 3 ms.
  const { hash } = process.getBuiltinModule("node:crypto");
  return prefix + hash("sha256", apiKey).slice(0, 8);
}

/** Returns whether the key consists of printable ASCII characters. Spaces and line breaks around it are ignored. */
export function isUsableKey(apiKey: string): boolean {
  return /^[\x21-\x7e]+$/.test(apiKey.trim());
}

export function isKeyOfV2(apiKey: string): boolean {
  return apiKey.startsWith("sk_") && keyIdOf(apiKey) === null;
}

export function keyCommand({ keyFrom }: Pick<HostedService, "keyFrom">): string {
  return `export ${keyFrom}=key_id:secret`;
}

export function missingKey({ baseUrl, deployment }: HostedService): string {
  const who = deployment === null ? baseUrl : `${deployment.title} (${baseUrl})`;
  const or = deployment === null ? "" : ", and neither is SHOWRUNNER_API_KEY";
  return `is not set${or}. ${who} needs a key of the form <key_id>:<secret>.`;
}
