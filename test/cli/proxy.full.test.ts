/** Runs on a machine that reaches nothing but itself and its company's proxy: names that end in `.test` exist only there. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { greyPng } from "../../src/core/kit/placeholder-media.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { type ForwardProxy, forwardProxy } from "../support/forward-proxy.ts";
import { type HardPath, hardPath } from "../support/hard-path.ts";
import { type Listening, listen } from "../support/listen.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { cli, emptyFolder, root, startCli } from "./support/cli.ts";

const LOGIN = "clerk:secret-word";
const CERTIFICATE = join(root, "test/support/certificates/studio.test.crt");

/** What a run asks of all whom it may ask: the service, a file that its input names, a provider, and who is told at the end. */
const pipelineFor = (provider: string) => `import { file, pipeline } from "showrunner";
import { z } from "zod";
const painter = {
  specificationVersion: "v4", provider: "painters.image", modelId: "painter", maxImagesPerCall: 1,
  async doGenerate() {
    const answer = await fetch("${provider}/paint", { method: "POST", body: "{}" });
    if (!answer.ok) throw new Error("it answered " + answer.status);
    return { images: [new Uint8Array(await answer.arrayBuffer())], warnings: [], response: { timestamp: new Date(0), modelId: "painter" } };
  },
};
export default pipeline("errand", {
  input: z.object({ face: file("image") }),
  build({ input, job, upload, generate }) {
    const still = generate("still", painter, { prompt: "a boat" }, { maxCost: "0.05" });
    const face = upload("face", input.face);
    return { still, drawn: job("drawn", "image-1", { prompt: "a lamp" }), face };
  },
});
`;

let service: LocalService;
let path: HardPath;
let pictures: Listening;
let receiver: Receiver;
let proxy: ForwardProxy;
beforeAll(async () => {
  service = await startLocalService({ renderer: "stub", dataDir: emptyFolder() });
  path = await hardPath(service.baseUrl);
  pictures = await listen(createServer((_, answer) => answer.end(greyPng(64))));
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([path.close(), pictures.close(), receiver[Symbol.asyncDispose]()]);
  await service.close();
});
beforeEach(async () => {
  proxy = await forwardProxy({ login: LOGIN });
});
afterEach(() => proxy.close());

const named = (host: string, { port }: { readonly port: number }) => `http://${host}.test:${port}`;
const portOf = (url: string) => Number(new URL(url).port);

const serviceEnv = () => ({ SHOWRUNNER_BASE_URL: path.baseUrl, SHOWRUNNER_API_KEY: service.apiKey });

async function ran(env: Readonly<Record<string, string>>) {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, "errand.ts"), pipelineFor(named("painters", pictures)));
  const args = ["run", "errand.ts", "--id", "x", "--budget", "1", "--give-up-after", "1s", "-i"];
  const { end } = startCli([...args, `face=${named("files", pictures)}/face.png`, "--json"], {
    cwd,
    env: {
      ...serviceEnv(),
      SHOWRUNNER_NOTIFY_URL: `${named("hooks", { port: portOf(receiver.url) })}/hook`,
      ...env,
    },
  });
  return end;
}

/** What a command says that cannot reach the service. */
async function listed(env: Readonly<Record<string, string>>): Promise<string> {
  const { code, stderr } = await startCli(["models", "list"], { env: { ...serviceEnv(), ...env } }).end;
  expect(code, stderr).not.toBe(0);
  return stderr;
}

const proxies = () => ({ HTTPS_PROXY: proxy.url, http_proxy: proxy.url, NODE_EXTRA_CA_CERTS: CERTIFICATE });

describe("a run behind a company's proxy", () => {
  test("asks everybody through it, and trusts the company's authority", async () => {
    const { code, stdout, stderr } = await ran(proxies());
    expect(stderr + stdout).toContain("succeeded");
    expect(code).toBe(0);
    const hosts = new Set(proxy.asked.map((line) => /([a-z]+)\.test/.exec(line)?.[1]));
    expect([...hosts].toSorted()).toEqual(["files", "hooks", "painters", "studio"]);
    expect(stderr + stdout).not.toContain("secret-word");
  });

  test("asks nobody through it whom NO_PROXY has, and says that this is why it could not", async () => {
    const stderr = await listed({ ...proxies(), NO_PROXY: ".test" });
    expect(proxy.asked).toEqual([]);
    expect(stderr).toContain(`requests to ${new URL(path.baseUrl).host} bypass the proxy because of NO_PROXY`);
  });

  test("is told that the proxy wants a password, and which variable holds it", async () => {
    const stderr = await listed({ ...proxies(), HTTPS_PROXY: proxy.url.replace("secret", "wrong") });
    const host = new URL(proxy.url).host;
    expect(stderr).toContain(
      `the proxy ${host} (HTTPS_PROXY) requires a user name and password: set them in HTTPS_PROXY as USER:PASSWORD@${host}`,
    );
    expect(stderr).not.toContain("wrong-word");
  });

  test("is told of a proxy that refuses a host, of one that is not there, and of a variable that names none", async () => {
    proxy.refusal = 403;
    expect(await listed(proxies())).toContain("(HTTPS_PROXY) answered 403; allow ");
    const closed = await forwardProxy();
    await closed.close();
    const away = await listed({ ...proxies(), HTTPS_PROXY: closed.url });
    const host = new URL(closed.url).host;
    expect(away).toContain(`nothing listens at ${host} (connection refused)`);
    expect(away).toContain(`requests to ${new URL(path.baseUrl).host} go through the proxy ${host} (HTTPS_PROXY)`);
    const wrong = await listed({ ...proxies(), HTTPS_PROXY: "socks5://u:hidden-word@proxy.corp:1080" });
    expect(wrong).toContain("HTTPS_PROXY is not an HTTP proxy URL");
    expect(wrong).not.toContain("hidden-word");
  });

  test("is told of NODE_EXTRA_CA_CERTS where the authority is unknown", async () => {
    const { NODE_EXTRA_CA_CERTS: _, ...env } = proxies();
    expect(await listed(env)).toContain("set NODE_EXTRA_CA_CERTS=authority.pem");
  });
});

test("a service on this machine is asked without the proxy", async () => {
  const cwd = emptyFolder();
  const env = {
    SHOWRUNNER_BASE_URL: service.baseUrl,
    SHOWRUNNER_API_KEY: service.apiKey,
    ...proxies(),
    HTTP_PROXY: proxy.url,
  };
  const { code } = await startCli(["models", "list"], { cwd, env }).end;
  expect([code, proxy.asked]).toEqual([0, []]);
});

describe("doctor", () => {
  const finding = async (check: string, env: Readonly<Record<string, string>>) => {
    const { stdout } = await cli(["doctor", "--json"], { env: { ...env, PATH: "" } });
    return (JSON.parse(stdout) as { check: string }[]).find((one) => one.check === check);
  };

  test("says which proxies and authorities it sees, without a password", async () => {
    const env = { HTTPS_PROXY: "http://clerk:hidden@proxy.corp:3128", no_proxy: ".corp,10.0.0.0/8" };
    expect(await finding("proxy", env)).toMatchObject({
      state: "ok",
      detail:
        "https through proxy.corp:3128 (HTTPS_PROXY), http direct, this machine and .corp,10.0.0.0/8 direct (no_proxy)",
    });
    expect(await finding("authority", { NODE_EXTRA_CA_CERTS: CERTIFICATE })).toMatchObject({
      state: "ok",
      detail: `1 certificate in ${CERTIFICATE} (NODE_EXTRA_CA_CERTS)`,
    });
  });

  test("finds a variable that names no proxy, and a file that holds no certificate", async () => {
    expect(await finding("proxy", { HTTP_PROXY: "socks5://proxy.corp" })).toMatchObject({ state: "fail" });
    expect(await finding("authority", { NODE_EXTRA_CA_CERTS: "/nowhere.pem" })).toMatchObject({ state: "fail" });
    expect(await finding("authority", { NODE_EXTRA_CA_CERTS: join(root, "package.json") })).toMatchObject({
      state: "fail",
    });
  });
});
