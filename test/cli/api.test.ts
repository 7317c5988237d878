import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ack, type FakeService, failure, fakeService, hangUp, json, type Reply } from "../support/fake-service.ts";
import { cli, emptyFolder, type Place } from "./support/cli.ts";

const SECRET = "s3cr3t-of-the-key";

async function service(...replies: readonly Reply[]): Promise<FakeService> {
  const fake = await fakeService(...(replies.length > 0 ? replies : [json(200, { ok: true })]));
  onTestFinished(() => fake.close());
  return fake;
}

const envOf = ({ baseUrl }: FakeService) => ({
  SHOWRUNNER_BASE_URL: baseUrl,
  SHOWRUNNER_API_KEY: `key_1:${SECRET}`,
});

function api(fake: FakeService, args: readonly string[], more: Place & Parameters<typeof cli>[1] = {}) {
  return cli(["api", ...args], { ...more, env: envOf(fake) });
}

const SUBMIT = ["/models/image-1", "--data", '{"input":{"prompt":"x"}}', "--yes"];
const keyOf = ({ body }: { readonly body: string }) => JSON.parse(body).idempotency_key as string;

describe("the request", () => {
  test.each([
    [["/jobs"], "GET /v3/jobs"],
    [["jobs?limit=2", "--query", "cursor=a b&c"], "GET /v3/jobs?limit=2&cursor=a+b%26c"],
    [["delete", "/jobs/job_1"], "DELETE /v3/jobs/job_1"],
    [["/keys", "--data", "{}"], "POST /v3/keys"],
    [["PUT", "/webhooks/default", "--data", '{"url":null}'], "PUT /v3/webhooks/default"],
    [["PATCH", "/log-drains/d", "--data", '{"enabled":false}'], "PATCH /v3/log-drains/d"],
  ])("%j is %s", async (args, expected) => {
    const fake = await service();
    const { code, stderr } = await api(fake, args);
    expect(code, stderr).toBe(0);
    expect(fake.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([expected]);
    expect(fake.seen[0]?.headers.authorization).toContain(SECRET);
  });

  test.each([
    [["GET", "/jobs", "--data", "{}"], "a GET request cannot have --data"],
    [["TRACE", "/jobs"], "TRACE is not an HTTP method that the API supports"],
    [["POST"], "POST needs a path"],
    [["/jobs", "--query", "limit"], "--query limit needs a name"],
    [["/jobs", "--header", "X-One"], "--header X-One needs a name"],
    [["/keys", "--data", "{name}"], "--data is not valid JSON at line 1, column 2"],
    [["/keys", "--data", "@none.json"], "none.json does not exist"],
    [["/keys", "--data", "{}", "--idempotency-key", "k"], "--idempotency-key only works when a job is submitted"],
    [["/models/m", "--data", "[]"], "--data must be a JSON object when submitting a job"],
    [["POST", "/models/m"], "--data must be a JSON object when submitting a job"],
    [["/models/m", "--data", '{"idempotency_key":"a"}', "--idempotency-key", "b"], "differs from idempotency_key"],
  ])("%j is refused before anything is sent", async (args, message) => {
    const fake = await service();
    const { code, stderr } = await api(fake, args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/\nNext: \S/);
    expect(fake.seen).toEqual([]);
  });

  test("its body comes from the flag, from a file or from stdin", async () => {
    const fake = await service();
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "body.json"), '{"from": "file"}');
    await api(fake, ["/keys", "--data", '{"from": "flag"}'], { cwd });
    await api(fake, ["/keys", "--data", "@body.json"], { cwd });
    await api(fake, ["/keys", "--data", "-"], { cwd, stdin: '{"from": "stdin"}' });
    expect(fake.seen.map(({ body }) => JSON.parse(body).from)).toEqual(["flag", "file", "stdin"]);
  });

  test("has the headers that were given, and no other credential", async () => {
    const fake = await service();
    await api(fake, ["/jobs", "--header", "X-One: 1", "--header", "Accept: text/event-stream"]);
    expect(fake.seen[0]?.headers).toMatchObject({ "x-one": "1", accept: "text/event-stream" });
    for (const header of ["Authorization: Key other", "Host: other.test", "X: a\nb", "Cookie: a=b"]) {
      expect(await api(fake, ["/jobs", "--header", header])).toMatchObject({ code: 2 });
    }
    expect(fake.seen).toHaveLength(1);
  });
});

describe("the key goes to its service alone", () => {
  test.each([
    "https://other.test/v3/jobs",
    "http:/other.test",
    "//other.test/jobs",
    "/\\other.test/jobs",
    "../v2/jobs",
    "/jobs/../../v2",
    "/jobs/%2e%2e/%2E%2E/v2",
    "/jobs/..%2f..%2fv2",
    "/jobs/%zz",
    "/jobs\n",
    "/jobs#top",
  ])("%j leads nowhere else [G31]", async (path) => {
    const fake = await service();
    const { code, stderr } = await api(fake, [path]);
    expect(code).toBe(2);
    expect(stderr).toContain("use a path below");
    expect(fake.seen).toEqual([]);
  });

  test("a path is never read as the host, whatever it begins with", async () => {
    const fake = await service();
    await api(fake, ["@other.test/"]);
    expect(fake.seen.map(({ path }) => path)).toEqual(["/v3/@other.test/"]);
  });

  test("a redirect is an error, and is not followed", async () => {
    const other = await service();
    const fake = await service((_request, response) => {
      response.writeHead(307, { location: `${other.baseUrl}/jobs` }).end();
    });
    const { code, stderr } = await api(fake, ["/jobs"]);
    expect(code).toBe(1);
    expect(stderr).toContain("307");
    expect(other.seen).toEqual([]);
  });
});

describe("the answer", () => {
  const written = '{"b":1,\n "a":"\\u00e9"}';
  const asWritten: Reply = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end(written);
  };

  test("is printed as it came, and set out on a terminal", async () => {
    const fake = await service(asWritten);
    expect((await api(fake, ["/jobs"])).stdout).toBe(written);
    const { stdout } = await api(fake, ["/jobs"], { terminal: { isTTY: true, columns: 80 } });
    expect(stdout).toBe('{\n  "b": 1,\n  "a": "é"\n}\n');
  });

  test("of a stream is passed on event by event, until it breaks off", async () => {
    const fake = await service((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      response.socket?.end();
    });
    const { code, stdout, stderr } = await api(fake, ["/jobs/j/stream"]);
    expect([code, stdout]).toEqual([1, "data: 1\n\n"]);
    expect(stderr).toContain("lost its connection");
  });

  test("of bytes is passed on to a file or a pipe, and refused to a terminal", async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 128]);
    const fake = await service((_request, response) => {
      response.writeHead(200, { "content-type": "image/png" }).end(bytes);
    });
    for (const isTTY of [false, true]) {
      const { code, bytes: printed } = await api(fake, ["/picture"], { terminal: { isTTY } });
      expect(code).toBe(isTTY ? 2 : 0);
      expect(printed).toEqual(isTTY ? Buffer.alloc(0) : bytes);
    }
  });

  test("of a refusal is the service's code, its details and what to do", async () => {
    const details = [{ field: "limit", message: "too large", reason: "VALUE" }];
    const fake = await service(failure(400, "INVALID_ARGUMENT", { details }));
    const { code, stdout, stderr } = await api(fake, ["/jobs"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/400 INVALID_ARGUMENT[\s\S]*limit: too large[\s\S]*\nNext: \S/);
    expect(await api(await service(failure(402, "INSUFFICIENT_BALANCE")), ["/jobs"])).toMatchObject({ code: 3 });
  });

  test.each(["200", "400", "text"])("holds nothing of the key that it quotes (%s)", async (kind) => {
    const quoted = `you sent key_1:${SECRET}`;
    const fake = await service((_request, response) => {
      const type = kind === "text" ? "text/plain" : "application/json";
      response.writeHead(kind === "400" ? 400 : 200, { "content-type": type });
      response.write(JSON.stringify({ error: { code: "INVALID_ARGUMENT", message: quoted } }).slice(0, 60));
      response.end(JSON.stringify({ error: { code: "INVALID_ARGUMENT", message: quoted } }).slice(60));
    });
    const { stdout, stderr } = await api(fake, ["/jobs"]);
    expect(stdout + stderr).toContain("you sent");
    expect(stdout + stderr).not.toContain(SECRET);
  });
});

describe("a request that costs money", () => {
  test("is sent after a yes on the terminal, under the price of now", async () => {
    const fake = await service(json(200, { model: "image-1", cost: "0.02", quotable: true }), ack());
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return "y";
    };
    const { code, stderr } = await api(fake, SUBMIT.slice(0, -1), { ask });
    expect(code, stderr).toBe(0);
    expect(asked).toEqual(["Spend $0.02? [y/N] "]);
    expect(fake.seen.map(({ path }) => path)).toEqual(["/v3/models/image-1/estimate", "/v3/models/image-1"]);
  });

  test("is not asked about where stdin is its body: only --yes agrees then", async () => {
    const fake = await service(json(200, { model: "image-1", cost: "0.02", quotable: true }));
    const ask = () => Promise.reject(new Error("asked"));
    const { code, stderr } = await api(fake, ["/models/image-1", "--data", "-"], { stdin: '{"input":{}}', ask });
    expect(code).toBe(2);
    expect(stderr).toContain("you cannot confirm this without a terminal");
  });

  test.each([
    "/models/image-1/estimate/",
    "/models/image-1%2festimate",
    "/models/image-1/%65stimate",
    "/Models/image-1",
    "/models//image-1",
    "/chat/completions?x=/keys",
  ])("is asked about in any spelling: %s", async (path) => {
    const fake = await service(json(200, { model: "m", quotable: false, reason: "by length" }));
    expect(await api(fake, ["POST", path, "--data", "{}"])).toMatchObject({ code: 2 });
    expect(fake.seen.filter((request) => request.path === `/v3${path}`)).toEqual([]);
  });

  test("has a key of its own, or the one that was given", async () => {
    const fake = await service(ack());
    await api(fake, SUBMIT);
    await api(fake, [...SUBMIT, "--idempotency-key", "mine"]);
    await api(fake, ["/models/m", "--yes", "--data", '{"idempotency_key":"in-data"}']);
    expect(fake.seen.map(keyOf)).toEqual([expect.stringMatching(/^cli-[0-9a-f-]{36}$/), "mine", "in-data"]);
  });

  test("is sent once where no answer comes, and its key is printed with the command that asks again", async () => {
    const fake = await service(hangUp, ack());
    const { code, stderr } = await api(fake, SUBMIT);
    expect(code).toBe(1);
    expect(fake.seen).toHaveLength(1);
    const key = keyOf(fake.seen[0]!);
    expect(stderr).toContain(
      `The job may have been created. To send the request again without creating a second job, use this idempotency key: ${key}`,
    );
    expect(stderr).toMatch(new RegExp(`Next: showrunner api /models/image-1 .* --idempotency-key ${key}`));
  });

  test("without a key is sent once too, and a lost answer leads to the list of jobs", async () => {
    const fake = await service(hangUp, ack());
    const { code, stderr } = await api(fake, ["/chat/completions", "--data", "{}", "--yes"]);
    expect([code, fake.seen.length]).toEqual([1, 1]);
    expect(stderr).toMatch(/The request may still have been charged\.\nNext: showrunner jobs list/);
  });

  test.each([
    [failure(400, "INVALID_ARGUMENT"), false],
    [failure(401, "UNAUTHORIZED"), false],
    [failure(409, "ALREADY_EXISTS"), true],
    [failure(500, "INTERNAL"), true],
    [json(400, { message: "of a proxy" }), true],
    [json(302, {}), true],
  ])("prints its key unless the service itself refused it (case %#)", async (reply, isUncertain) => {
    const fake = await service(reply);
    const { code, stderr } = await api(fake, SUBMIT);
    expect(code).toBe(1);
    expect(fake.seen).toHaveLength(1);
    expect(stderr.includes(keyOf(fake.seen[0]!))).toBe(isUncertain);
  });

  test("of the local service needs no yes", async () => {
    const args = ["api", "/models/image-1/estimate", "--data", '{"input":{"prompt":"x"}}', "--local"];
    expect(await cli(args)).toMatchObject({ code: 0, stdout: expect.stringContaining("cost") });
    const chat = ["api", "/chat/completions", "--local", "--data"];
    const { code, stdout } = await cli([...chat, '{"model":"chat-1","messages":[{"role":"user","content":"hi"}]}']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ choices: expect.any(Array) })]);
  });
});
