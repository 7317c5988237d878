import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyNotification } from "../../src/core/api/index.ts";
import { jsonOf, type Receiver, startReceiver } from "../support/receiver.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { gateFolder } from "./support/gate.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

const hookOf = ({ url }: Receiver) => `${url}/hook/secret-part`;

test("a test arrives signed with the key that `notify key` prints; a refusal is told with exit 1", async () => {
  await using receiver = await startReceiver((index) => (index === 0 ? 204 : 500));
  const cwd = emptyFolder();
  const key = (await cli(["notify", "key"], { cwd })).stdout.trim();
  const sent = await cli(["notify", "test", "--notify", hookOf(receiver)], { cwd });
  expect({ code: sent.code, stdout: sent.stdout }, sent.stderr).toEqual({
    code: 0,
    stdout: `${new URL(hookOf(receiver)).origin} accepted the test notification\n`,
  });
  const { headers, body } = receiver.received[0]!;
  expect(verifyNotification({ headers, body, publicKey: key, now: Date.now() })).toMatchObject({
    ok: true,
    notification: { event: "notify.test" },
  });
  const refused = await cli(["notify", "test"], { cwd, env: { SHOWRUNNER_NOTIFY_URL: hookOf(receiver) } });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain("the target responded with status 500");
  expect(refused.stdout + refused.stderr).not.toContain("secret-part");
});

test("without a target the test explains how one is set", async () => {
  const { code, stderr } = await cli(["notify", "test"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/no notification target is set.*\nNext: use --notify https/s);
});

test("what waits for a person reaches them before `run` ends", async () => {
  await using receiver = await startReceiver();
  const cwd = gateFolder();
  const args = ["run", "gate.ts", "--id", "a", "--budget", "5", "--notify", hookOf(receiver)];
  const { code, stderr } = await cli(args, { cwd, env: service.env });
  expect(code, stderr).toBe(3);
  expect(receiver.received.map(jsonOf).map((json) => [json.id, json.event, json.step])).toEqual([
    [expect.stringMatching(/^a:\d+$/), "run.waiting", "fine"],
  ]);
});

test("what the target refuses is a finding of `doctor`, with the command that tries it", async () => {
  await using receiver = await startReceiver(() => 500);
  const cwd = gateFolder();
  const env = { ...service.env, SHOWRUNNER_NOTIFY_URL: hookOf(receiver) };
  await cli(["run", "gate.ts", "--id", "a", "--budget", "5"], { cwd, env });
  const { code, stdout, stderr } = await cli(["doctor"], { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /FAIL {2}notify +notifications not delivered to http:\/\/127\.0\.0\.1:\d+: 1 \(.+ responded with status 500/,
  );
  expect(stderr).toContain("Next: showrunner notify test");
});
