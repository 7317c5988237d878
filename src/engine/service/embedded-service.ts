import { type Client, type ClientOptions, createClient } from "../../api/index.ts";
import type { FamiliesOption } from "../../families/index.ts";
import { LocalServiceMissingError } from "../../load-local-service.ts";
import { InvalidOptionError } from "../errors.ts";
import { shareLocalService } from "./shared-service.ts";

/** The service that a Showrunner works with, and how to let go of it. */
export interface Service {
  readonly kind: "hosted" | "local";
  readonly client: Client;
  /** What runs are pinned to: stays the same when a local service comes back on another port. */
  readonly origin: string;
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly client?: Client | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly local?: boolean | undefined;
  /** Folder of the embedded local service. Default `.showrunner/local`. */
  readonly localDir?: string | undefined;
  /**
   * What is known of families of models beyond their schemas, over what is built in: a JSON file, or its content. Its rules
   * are checked by plans and by an embedded local service. Default: the file of environment SHOWRUNNER_FAMILIES, else
   * nothing more. Throws {@link FamiliesError}.
   */
  readonly families?: FamiliesOption | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly clientOptions?: Partial<ClientOptions> | undefined;
}

/** The service by options, else by environment, else the local one, embedded in this process. */
export async function openService(options: ServiceOptions): Promise<Service> {
  const env = options.env ?? process.env;
  if (options.client !== undefined) {
    const { client } = options;
    return { kind: "hosted", client, origin: client.baseUrl, close: async () => {} };
  }
  const baseUrl = options.baseUrl ?? env.SHOWRUNNER_BASE_URL;
  if (options.local === true || baseUrl === undefined || baseUrl === "") return openLocal(options);
  const apiKey = options.apiKey ?? env.SHOWRUNNER_API_KEY;
  if (apiKey === undefined || apiKey === "") {
    throw new InvalidOptionError(
      "SHOWRUNNER_API_KEY",
      `is not set, and ${baseUrl} needs a key of the form <key_id>:<secret>.`,
    );
  }
  const client = createClient({ ...options.clientOptions, baseUrl, apiKey });
  return { kind: "hosted", client, origin: client.baseUrl, close: () => client.close() };
}

async function openLocal(options: ServiceOptions): Promise<Service> {
  const dataDir = options.localDir ?? ".showrunner/local";
  const origin = `local:${dataDir}`;
  const shared = await shareLocalService(dataDir, options.families).catch(orMissing);
  if (shared instanceof LocalServiceMissingError) {
    return { kind: "local", client: unusableClient(shared), origin, close: async () => {} };
  }
  const { baseUrl, apiKey } = shared;
  const client = createClient({ ...options.clientOptions, baseUrl, apiKey });
  return {
    kind: "local",
    client,
    origin,
    close: async () => {
      await client.close();
      await shared.close();
    },
  };
}

/** What only reads the journal works all the same. */
function orMissing(error: unknown): LocalServiceMissingError {
  if (error instanceof LocalServiceMissingError) return error;
  throw error;
}

/** Every call of the API fails with `error`; what needs no service is there. */
function unusableClient(error: Error): Client {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "local:none" });
  const own = new Set<string | symbol>(["keyId", "brand", "pace", "clockOffsetMs", "expectWebhooks", "notify"]);
  return new Proxy(client, {
    get(target, name) {
      if (own.has(name)) return Reflect.get(target, name);
      throw error;
    },
  });
}
