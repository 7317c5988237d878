/** A receiver of the Fetch kind for posts of at most so many bytes. */
export function receiver(
  maxBytes: number,
  handle: (headers: Headers, body: Uint8Array) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") return answer(405, "POST only", { allow: "POST" });
    const body = await readBody(request, maxBytes).catch(() => undefined);
    if (body === undefined) return answer(400, "the body broke off");
    return body === null ? answer(413, "the body is too large") : handle(request.headers, body);
  };
}

/** The body of a request as bytes, or null when it is larger than allowed; then the rest is not read. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return null;
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A plain answer that tells a sender what happened and an attacker nothing more. */
export function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}
