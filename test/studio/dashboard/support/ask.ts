import { request } from "node:http";

export interface Sent {
  readonly method?: string;
  /** The path exactly as it goes over the wire. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends a request unmodified, as an attacker would. */
export function ask(origin: string, { method = "GET", path, headers = {}, body }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((done, failed) => {
    const sent = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("end", () =>
        done({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(pieces) }),
      );
      answer.on("error", failed);
    });
    sent.on("error", failed);
    sent.end(body);
  });
}

/** The cookie that a dashboard's address with its token gives. */
export async function cookieOf(url: string): Promise<string> {
  return (await fetch(url)).headers.get("set-cookie")!.split(";")[0]!;
}
