import { createReviewLink, type NewReviewLink } from "../../../../src/studio/dashboard/links/review-link.ts";
import type { SharedDecision, SharedPage } from "../../../../src/studio/dashboard/views/document.ts";
import { type Answer, ask, type Sent } from "./ask.ts";
import { plantRun } from "./planted.ts";
import type { Served } from "./serve.ts";

export const PUBLIC = "review.example.test";

/** Sends an unmodified request, by default with the public host name. */
export function send(served: Served, { headers, ...sent }: Sent): Promise<Answer> {
  return ask(served.dashboard.origin, { ...sent, headers: { host: PUBLIC, ...headers } });
}

/** The body of requests that a review link's page sends. */
interface Body {
  readonly ref: string;
  readonly name?: string;
}

export class Guest {
  readonly token: string;
  readonly #served: Served;
  readonly #from: string;

  constructor(served: Served, token: string, from = "203.0.113.7") {
    this.token = token;
    this.#served = served;
    this.#from = from;
  }

  get headers() {
    return { authorization: `Bearer ${this.token}`, "x-forwarded-for": this.#from };
  }

  ask(): Promise<Answer> {
    return send(this.#served, { path: "/shared/api/decisions", headers: this.headers });
  }

  async decisions(): Promise<readonly SharedDecision[]> {
    const { status, body } = await this.ask();
    if (status !== 200) throw new Error(`${status} ${body}`);
    return (JSON.parse(String(body)) as SharedPage).decisions;
  }

  decide(
    verdict: Body & { readonly approved?: boolean; readonly pick?: number | null; readonly note?: string },
  ): Promise<Answer> {
    return this.#post("decide", { approved: true, name: "Ann", ...verdict });
  }

  comment(
    remark: Body & { readonly text: string; readonly take?: number | null; readonly timeMs?: number | null },
  ): Promise<Answer> {
    return this.#post("comment", remark);
  }

  #post(what: string, given: object): Promise<Answer> {
    const headers = { ...this.headers, origin: `https://${PUBLIC}`, "content-type": "application/json" };
    const body = JSON.stringify(given);
    return send(this.#served, { method: "POST", path: `/shared/api/${what}`, headers, body });
  }
}

export async function linkTo(
  served: Served,
  link: NewReviewLink,
): Promise<{ readonly id: string; readonly token: string }> {
  const { link: made, token } = await createReviewLink(served.journal, link, Date.now());
  return { id: made.id, token };
}

/** Adds a run that asks which of two pictures is better. */
export async function plantQuestion(
  served: Served,
  id: string,
  client: string,
  hues: readonly [number, number],
): Promise<void> {
  const [one, other] = await Promise.all(hues.map((hue) => served.picture(hue)));
  const [hidden] = await Promise.all([served.picture(hues[0] + 7)]);
  await plantRun(served.journal, {
    id,
    tags: { client },
    steps: [
      { path: "draft", outputs: [hidden!], prompt: "a secret recipe" },
      { path: "look", outputs: [one!, other!], prompt: "a secret recipe" },
      { path: "best", kind: "approve", needs: ["look"], state: "asked", prompt: `Which look for ${client}?` },
    ],
  });
}
