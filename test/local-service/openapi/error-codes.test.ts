import { expect, test } from "vitest";
import type { FaultRule } from "../../../src/local-service/index.ts";
import { ask, get, post, read, start } from "../support/service.ts";

type Code = NonNullable<Extract<FaultRule, { kind: "error" }>["code"]>;

/** Every code of the envelope with its HTTP status, written down apart from the code. */
const STATUS: readonly (readonly [Code, number])[] = [
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["UNAUTHORIZED", 401],
  ["INSUFFICIENT_BALANCE", 402],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["ALREADY_EXISTS", 409],
  ["ALREADY_IN_PROGRESS", 409],
  ["GONE", 410],
  ["MODERATION_FAILED", 422],
  ["RESOURCE_EXHAUSTED", 429],
  ["CANCELLED", 499],
  ["UNKNOWN", 500],
  ["INTERNAL", 500],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504],
];

/** Not through the contract: a forced INSUFFICIENT_BALANCE has no bill to show. */
async function forced(code: Code) {
  const service = await start();
  service.faults([{ kind: "error", code, retry_after: 7 }]);
  const headers = { Authorization: `Bearer ${service.apiKey}` };
  const response = await fetch(`${service.baseUrl}/balance`, { headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

test.each(STATUS)(
  "%s is answered with %i, and says when to come back exactly if it is retryable [E2 E5 E7 E8 WC17 WC18]",
  async (code, status) => {
    const reply = await forced(code);
    expect(reply).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } });
    const { retryable, retry_after } = (reply.body as { error: { retryable: boolean; retry_after?: number } }).error;
    expect([retry_after, reply.headers.get("retry-after")]).toEqual(retryable ? [7, "7"] : [undefined, null]);
  },
);

test("the envelope knows these codes and no others [E2]", async () => {
  const service = await start();
  const { code } = (await read(service, "/openapi.json")).components.schemas.ErrorObject.properties;
  expect(code.enum.toSorted()).toEqual(STATUS.map(([each]) => each).toSorted());
});

test("every answer has a trace id and a request id of its own, whatever came of the request [WC5]", async () => {
  const service = await start();
  const replies = [
    await get(service, "/balance"),
    await get(service, "/balance"),
    await get(service, "/balance", { credential: null }),
    await get(service, "/nowhere"),
    await ask(service, "DELETE", "/webhooks/default"),
    await post(service, "/models/image-1", { input: { prompt: "x" } }),
  ];
  const ids = (name: string) => replies.map(({ headers }) => headers.get(name) ?? "");
  expect(ids("x-trace-id").every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  expect(ids("x-request-id").every((id) => /^req_/.test(id))).toBe(true);
  expect(new Set([...ids("x-trace-id"), ...ids("x-request-id")]).size).toBe(2 * replies.length);
});

test("the API answers below /v3 only [X1]", async () => {
  const { baseUrl, apiKey } = await start();
  const headers = { Authorization: `Bearer ${apiKey}` };
  for (const path of ["/jobs", "/v2/jobs", "/v4/jobs"])
    expect([path, (await fetch(new URL(path, baseUrl), { headers })).status]).toEqual([path, 404]);
});
