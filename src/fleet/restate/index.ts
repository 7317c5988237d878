import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type * as Restate from "@restatedev/restate-sdk";
import type { LocalWork } from "../../core/engine/index.ts";
import { ShowrunnerError } from "../../core/kit/errors.ts";
import { fetchForOperator, unreached } from "../../core/network/index.ts";
import { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "../worker/index.ts";
import { namesOf, Places, servicesOf, type Wake, type Work } from "./services.ts";

/** Options for `createRestateEngine`. */
export interface RestateEngineOptions {
  /** URL of Restate's ingress, such as `http://restate:8080`. */
  readonly ingress: string;
  /**
   * Prefix for the names of the engine's services in Restate. Workers with the same name share runs. Workers with an
   * incompatible version need another name. Default `showrunner`.
   */
  readonly name?: string | undefined;
  /** Bearer token for Restate, such as an API key of Restate Cloud. */
  readonly token?: string | undefined;
  /** Where Restate calls this process. */
  readonly endpoint?: RestateEndpointOptions | undefined;
  /** Called when a handler or the endpoint fails. Failed work is retried. */
  readonly onError?: ((error: unknown, what: string) => void) | undefined;
}

/** How Restate reaches this process. */
export interface RestateEndpointOptions {
  /** Address to listen on. Default `127.0.0.1`. Without identity keys, anyone who can connect can call the handlers. */
  readonly host?: string | undefined;
  /**
   * Port to listen on. Default 9080. On Linux, several processes of the same user can share a port. The kernel then
   * distributes Restate's connections among them.
   */
  readonly port?: number | undefined;
  /**
   * URL at which Restate reaches this process or its load balancer. The process registers this URL when it starts to
   * take work. If `null`, it registers nothing. Default: made from `host` and `port`.
   */
  readonly address?: string | null | undefined;
  /** URL of Restate's admin API. Default: port 9070 on the ingress's host. */
  readonly admin?: string | undefined;
  /** Public keys (`publickeyv1_…`) of the Restate servers that may call this process. Default: anyone may call. */
  readonly identityKeys?: readonly string[] | undefined;
}

/**
 * Number of calls that a connection accepts beyond the available slots. A small number makes Restate open connections
 * to other workers sooner.
 */
const MORE_STREAMS = 4;

/**
 * Creates an engine on Restate. A process that takes work needs `@restatedev/restate-sdk`, an optional peer dependency.
 * A process that only wakes runs does not need it.
 */
export function createRestateEngine(options: RestateEngineOptions): Engine {
  return new RestateEngine(options);
}

class RestateEngine implements Engine {
  readonly #options: RestateEngineOptions;
  readonly #name: string;
  readonly #end = new AbortController();
  #endpoint: Endpoint | null = null;

  constructor(options: RestateEngineOptions) {
    const { name = "showrunner" } = options;
    if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name)) {
      throw new Error(`name ${JSON.stringify(name)} is invalid: use letters, digits, - and _, starting with a letter`);
    }
    this.#options = options;
    this.#name = name;
  }

  async wake(runId: string, { at = 0, priority = 0 }: WakeOptions = {}): Promise<void> {
    const wake: Wake = { at, priority, since: Date.now() };
    await this.#send(`${namesOf(this.#name).wakes}/${encodeURIComponent(runId)}/wake`, wake);
  }

  async delegate(work: LocalWork): Promise<void> {
    // Hashes the key, because step names may contain characters that a header must not contain.
    const key = createHash("sha256").update(keyOfWork(work)).digest("hex");
    await this.#send(`${namesOf(this.#name).local}/perform`, work, { "idempotency-key": key });
  }

  async process(handlers: EngineHandlers, { slices, local }: ProcessOptions): Promise<void> {
    const { endpoint = {}, ingress, token, onError = () => {} } = this.#options;
    const sdk = await load();
    const places = { slices: new Places(slices), local: new Places(local) };
    const services = servicesOf(sdk, this.#name, { handlers, places, end: this.#end.signal, onError });
    const { port = 9080 } = endpoint;
    const host = endpoint.host || "127.0.0.1";
    const address = endpoint.address === undefined ? addressOf(host, port) : endpoint.address;
    this.#endpoint = new Endpoint(
      sdk.createEndpointHandler({
        services,
        ...(endpoint.identityKeys !== undefined && { identityKeys: [...endpoint.identityKeys] }),
        logger: loggerOf(onError),
      }),
      places,
      slices + local + MORE_STREAMS,
    );
    await this.#endpoint.listen(host, port);
    if (address === null) return;
    const { admin = adminOf(ingress) } = endpoint;
    await register({ admin, address, token }, namesOf(this.#name).runs).catch(async (error: unknown) => {
      await this.close({ drainMs: 0 });
      throw error;
    });
  }

  async close({ drainMs = 30_000 } = {}): Promise<void> {
    this.#end.abort(new Error("The worker is stopping."));
    await this.#endpoint?.close(drainMs);
  }

  async #send(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { ingress, token } = this.#options;
    const answer = await post(`${withoutSlash(ingress)}/${path}/send`, body, { token, headers });
    if (answer.ok) return void (await answer.body?.cancel());
    if (answer.status === 404) {
      throw new Error(
        `Restate at ${new URL(ingress).origin} has no worker named ${this.#name}: start a worker with this name; it registers itself`,
      );
    }
    throw new Error(`Restate at ${new URL(ingress).origin} refused a call: ${answer.status} ${await briefly(answer)}`);
  }
}

/** The HTTP/2 server through which Restate calls this process. */
class Endpoint {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #places: Work["places"];

  constructor(handler: ReturnType<typeof Restate.createEndpointHandler>, places: Work["places"], streams: number) {
    // Above this limit, Restate opens another connection, perhaps to another process.
    this.#server = createServer({ settings: { maxConcurrentStreams: streams } }, handler);
    this.#places = places;
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session)).on("error", () => {});
    });
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen({ host, port, ...(process.platform === "linux" && { reusePort: true }) });
    await once(this.#server, "listening");
  }

  /**
   * Refuses waiting calls, so that Restate sends them to other processes. Calls in progress have `drainMs` milliseconds
   * to finish.
   */
  async close(drainMs: number): Promise<void> {
    this.#places.slices.close();
    this.#places.local.close();
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const session of this.#sessions) session.close();
    const late = setTimeout(
      () => {
        for (const session of this.#sessions) session.destroy();
      },
      Math.min(drainMs, 2 ** 31 - 1),
    );
    await closed;
    clearTimeout(late);
  }
}

async function register(
  { admin, address, token }: { readonly admin: string; readonly address: string; readonly token: string | undefined },
  service: string,
): Promise<void> {
  const answer = await post(`${withoutSlash(admin)}/deployments`, { uri: address, force: false }, { token });
  const failed = `Restate at ${new URL(admin).origin} did not register ${address}`;
  if (!answer.ok) throw new Error(`${failed}: ${answer.status} ${await briefly(answer)}`);
  const { services } = (await answer.json()) as { readonly services: readonly { readonly name: string }[] };
  if (services.some(({ name }) => name === service)) return;
  const others = services.map(({ name }) => name).join(", ");
  throw new Error(
    `${failed} for ${service}, because this address already belongs to ${others}: give each worker its own address`,
  );
}

async function briefly(answer: Response): Promise<string> {
  return (await answer.text()).replaceAll(/\s+/g, " ").slice(0, 500);
}

function addressOf(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "::") {
    throw new Error(
      `Restate cannot call ${host}; set the address of this worker, for example address=http://workers:${port}`,
    );
  }
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function adminOf(ingress: string): string {
  const url = new URL(ingress);
  return `${url.protocol}//${url.hostname}:9070`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

/** Returns a logger that reports only the endpoint's errors, because the handlers report their own errors. */
function loggerOf(onError: (error: unknown, what: string) => void): Restate.LoggerTransport {
  return ({ level, source, context }, ...message) => {
    if (context !== undefined || source === "USER" || level !== "error") return;
    onError(new Error(message.map(String).join(" ")), "restate");
  };
}

async function load(): Promise<typeof Restate> {
  try {
    return await import("@restatedev/restate-sdk");
  } catch (cause) {
    throw new Error("The restate engine needs one more package: npm install @restatedev/restate-sdk", { cause });
  }
}

class RestateUnavailableError extends ShowrunnerError {
  readonly code = "ENGINE_UNAVAILABLE";
  constructor(origin: string, cause: unknown) {
    super(
      `Restate did not answer at ${origin}: ${unreached(cause, origin) ?? "check that it is running and that the address is right"}`,
      { cause },
    );
  }
}

/** Sends a JSON body to Restate. Error messages never contain the token. */
async function post(
  url: string,
  body: unknown,
  { token, headers }: { readonly token: string | undefined; readonly headers?: Readonly<Record<string, string>> },
): Promise<Response> {
  try {
    return await fetchForOperator(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
  } catch (cause) {
    throw new RestateUnavailableError(new URL(url).origin, cause);
  }
}
