import { ShowrunnerError } from "../errors.ts";
import { fetchForOperator } from "../network/index.ts";

/** Restate cannot be asked: it is down, or at another address. */
class RestateUnavailableError extends ShowrunnerError {
  readonly code = "ENGINE_UNAVAILABLE";
  constructor(origin: string, cause: unknown) {
    super(`Restate did not answer at ${origin}: is it running, and is this its address?`, { cause });
  }
}

/** A request to Restate's ingress or admin API. Rejects with what was asked of whom, and never repeats the token. */
export async function post(
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
