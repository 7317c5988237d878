import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { restateOptions } from "../../src/cli/engine.ts";
import { describeNeeding } from "../support/absence.ts";
import { freePort } from "../support/free-port.ts";
import { lacksRestate, RestateServer } from "../support/restate.ts";
import { cli, emptyFolder, startCli } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const LONG = 120_000;
const bell = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job, task }) => {
    const bell = job("bell", "image-1", { prompt: "a bell" });
    return { note: task("note", { bell }, ({ bell }) => ({ type: bell.contentType })) };
  },
});
`;

describeNeeding(lacksRestate())("With the engine Restate", () => {
  let service: Service;
  let restate: RestateServer;
  beforeAll(async () => {
    [service, restate] = await Promise.all([startService(["--stub"]), RestateServer.start()]);
  }, LONG);
  afterAll(async () => {
    await service?.stop();
    await restate?.remove();
  }, LONG);

  test(
    "a run that is left to workers before there is one, and one after, are driven; SIGTERM ends in good order",
    async () => {
      const cwd = emptyFolder();
      writeFileSync(join(cwd, "bell.ts"), bell);
      const { ingress, admin } = restate;
      const url = `${ingress}?admin=${admin}&listen=${await freePort()}&name=bells`;
      const here = { cwd, env: { ...service.env, SHOWRUNNER_ENGINE_URL: url } };
      const left = (id: string) =>
        cli(["run", "bell.ts", "--id", id, "--budget", "1", "--detach", "--engine", "restate"], here);
      const early = await left("early");
      expect(early).toMatchObject({ code: 0, stdout: "early\n" });
      expect(early.stderr).toContain("has no worker named bells");
      expect(early.stderr).toContain("a worker will find it within seconds");
      const worker = startCli(["worker", "--engine", "restate", "--pipelines", "."], here);
      let said = "";
      const until = (what: string) => expect.poll(() => said, { timeout: LONG, interval: 50 }).toContain(what);
      worker.child.stdout?.on("data", (text: string) => {
        said += text;
      });
      await until("early\tsucceeded");
      const late = await left("late");
      expect(late).toMatchObject({ code: 0, stdout: "late\n" });
      expect(late.stderr).not.toContain("has no worker named");
      await until("late\tsucceeded");
      worker.child.kill("SIGTERM");
      expect((await worker.end).code, said).toBe(130);
    },
    LONG,
  );
});

test.each([
  ["postgres://db/x", "is not the HTTP address of Restate"],
  ["http://restate:8080?listen=http", "listen=http is neither a port nor HOST:PORT"],
  ["http://restate:8080?admin=9070", "admin=9070 is not an HTTP URL"],
  ["http://restate:8080?port=1", "an unknown parameter port; use name, listen, address, admin, identity"],
])("a wrong address %s is refused", (url, why) => {
  expect(() => restateOptions(url)).toThrow(why);
});

test("an address says where to listen, what to register and under which name", () => {
  const query =
    "name=b&listen=[::1]:9081&address=none&admin=http://admin:9070&identity=publickeyv1_a&identity=publickeyv1_b";
  expect(restateOptions(`https://restate:8443/?${query}`)).toEqual({
    ingress: "https://restate:8443/",
    name: "b",
    endpoint: {
      ...{ host: "::1", port: 9081, address: null, admin: "http://admin:9070" },
      identityKeys: ["publickeyv1_a", "publickeyv1_b"],
    },
  });
});
