/** A request to Restate's ingress or admin API. Rejects with what was asked of whom, and never repeats the token. */
export async function post(
  url: string,
  body: unknown,
  { token, headers }: { readonly token: string | undefined; readonly headers?: Readonly<Record<string, string>> },
): Promise<Response> {
  try {
    return await fetch(url, {
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
    throw new Error(`Restate did not answer at ${new URL(url).origin}: is it running, and is this its address?`, {
      cause,
    });
  }
}
