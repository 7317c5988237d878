import { expect, test } from "vitest";
import { cleanText, withoutSecrets } from "../../../src/core/kit/clean-text.ts";
import { credentialsIn } from "../../../src/core/kit/known-secrets.ts";

const SECRET = "hunter2-Hunter2";

test.each([
  ...["accessToken", "authToken", "csrfToken", "csrf_token", "api-key", "API_KEY", "apikey", "pwd", "DB_PWD"],
  ...["passphrase", "Authorization"],
  ...["clientSecret", "private-key", "signingKey", "X-Auth", "Set-Cookie", "sessionId", "db_password", "credentials"],
])("a field named %s is out, whatever its value is", (name) => {
  for (const value of [SECRET, [SECRET], { any: { depth: SECRET } }, 4_815_162_342]) {
    expect(withoutSecrets({ a: [{ [name]: value }] })).toEqual({ a: [{ [name]: "[redacted]" }] });
  }
});

test("what only resembles such a name stays", () => {
  const names = { keyframe: "a", monkey: "b", authors: ["c"], passed: true, secret: null };
  const usage = { max_tokens: 512, prompt_tokens: 3, ...names };
  expect(withoutSecrets(usage)).toEqual(usage);
});

test("a schema keeps the fields that it describes", () => {
  const schema = { type: "object", properties: { token: { type: "string" }, pattern: { pattern: "^/a?b=c$" } } };
  expect(withoutSecrets(schema)).toEqual(schema);
});

test.each([
  ["a JSON text", `{"password":"${SECRET}","a":[{"token":"${SECRET}"}]}`],
  ["a JSON text within a JSON text", JSON.stringify([JSON.stringify({ pwd: SECRET })])],
  ["a JSON text that was cut", `{"user":"me","password":"${SECRET}","a":{"b`],
  ["a form", `grant_type=password&client_secret=${SECRET}&scope=all`],
  ["a connection string", `host=db user=me password=${SECRET} dbname=x`],
  ["the address of a database", `postgres://me:${SECRET}@db.internal:5432/app`],
  ["a header in prose", `the request had X-Auth-Token: ${SECRET} and failed`],
  [
    "a private key",
    `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${SECRET}\n-----END RSA PRIVATE KEY-----`,
  ],
  ["a private key that was cut", `-----BEGIN PRIVATE KEY-----\n${SECRET}`],
  ["OpenAI's keys", "sk-proj-hunter2Hunter2abcdef"],
  ["Amazon's keys", "AKIAHUNTER2HUNTER200"],
  ["a JSON web token", "eyJhunter2Hunter2.hunter2Hunter2.hunter2Hunter2"],
  ["GitHub's tokens", "ghp_hunter2Hunter2abcdefghijklmnop"],
  ["GitHub's new tokens", "github_pat_11ABCDEFG0hunter2Hunter2_abcdefghijkl"],
  ["GitLab's tokens", "glpat-hunter2Hunter2abcdef"],
  ["npm's tokens", "npm_hunter2Hunter2abcdefghijklmnop"],
  ["Google's keys", "AIzaSyAhunter2Hunter2abcdefghijklmnopqr"],
  ["Digest", `Digest username="me", realm="x", response="${SECRET}"`],
])("%s keeps no secret, in a recording or in a journal", (_, text) => {
  for (const cleaned of [withoutSecrets({ a: text }), cleanText(text)]) {
    expect(JSON.stringify(cleaned)).not.toMatch(/hunter2/i);
    expect(withoutSecrets(cleaned), "cleaned twice").toEqual(cleaned);
  }
});

test.each(["password: missing", "token: must be a string", "the key was refused", "a basic sentence", "see /a/b?c"])(
  "nothing of '%s' is lost",
  (text) => expect(cleanText(text)).toBe(text),
);

test("of a request every header is a credential but those that are known to be none", () => {
  const basic = Buffer.from(`me:${SECRET}`).toString("base64");
  const headers = {
    ...{ accept: "*/*", "User-Agent": "x/1", "content-type": "a/b", "x-stainless-os": "Linux", cookie: "a=b" },
    ...{ authorization: `Basic ${basic}`, "api-key": "k-12345678" },
    ...{ "x-auth-token": "t-12345678", "x-of-ours": "o-12345678" },
  };
  expect(credentialsIn(headers)).toEqual([basic, `me:${SECRET}`, "k-12345678", "t-12345678", "o-12345678"]);
  expect(credentialsIn({ Authorization: `Digest username="me", response="r-12345678"` })).toContain("r-12345678");
});
