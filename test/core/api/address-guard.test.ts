import type { lookup } from "node:dns";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../../../src/core/api/index.ts";
import { parseBaseUrl } from "../../../src/core/api/options.ts";
import { createAddressGuard, reachOf } from "../../../src/core/network/index.ts";
import { blockedAddresses, loopbackAddresses, publicAddresses } from "../../support/address-cases.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { type FakeService, fakeService, json } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const setUp = clientSetup();

test.each(blockedAddresses)("%s is inside a network: %s", (_name, address) => {
  expect(reachOf(address)).toBe("inside");
});

test.each(loopbackAddresses)("%s is this machine", (address) => {
  expect(reachOf(address)).toBe("loopback");
});

test.each(publicAddresses)("%s is public", (address) => {
  expect(reachOf(address)).toBe("public");
});

test("an IPv4 address is judged alike however it is written as IPv6", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      const reach = reachOf(address);
      for (const form of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`])
        expect(reachOf(form)).toBe(reach);
      expect(reachOf(`64:ff9b::${hex}`)).toBe(reach === "public" ? "public" : "inside");
    }),
  );
});

/** A guard whose names lead where the test says, one answer after the other. */
function guardOf(baseUrl: string, names: Readonly<Record<string, readonly string[]>> = {}) {
  const asked: Record<string, number> = {};
  const resolve = ((host: string, _options: unknown, done: (error: null, found: unknown) => void) => {
    const answers = names[host] ?? ["8.8.8.8"];
    const nth = asked[host] ?? 0;
    asked[host] = nth + 1;
    const address = answers[Math.min(nth, answers.length - 1)]!;
    done(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
  }) as unknown as typeof lookup;
  const guard = createAddressGuard(parseBaseUrl(baseUrl), resolve);
  const reached = (find: typeof guard.lookupNamed, host: string) =>
    new Promise<string>((found) => {
      find(host, { all: true }, (error, addresses) => {
        found(error ? "refused" : (addresses as { readonly address: string }[]).map(({ address }) => address).join());
      });
    });
  return {
    called: (host: string) => reached(guard.lookupOwn, host),
    named: (host: string) => reached(guard.lookupNamed, host),
    checked: (url: string) => {
      try {
        guard.check(url);
        return "open";
      } catch {
        return "refused";
      }
    },
  };
}

describe("a service on the open internet", () => {
  test.each([...blockedAddresses.slice(0, -1).map(([, address]) => address), ...loopbackAddresses])(
    "has nothing fetched from %s, by address or by name",
    async (address) => {
      const { checked, named } = guardOf("https://api.test/v3", { "files.test": [address] });
      const bare = address.replace(/%.*/, "");
      expect(checked(`http://${bare.includes(":") ? `[${bare}]` : bare}/a.png`)).toBe("refused");
      expect(await named("files.test")).toBe("refused");
    },
  );

  test.each([
    "http://2130706433/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://017700000001/",
    "file:///etc/passwd",
    "ftp://8.8.8.8/a",
  ])("has nothing fetched from %s", (url) => expect(guardOf("https://api.test/v3").checked(url)).toBe("refused"));

  test("cannot move its own name inside later", async () => {
    const { called, named } = guardOf("http://api.test/v3", { "api.test": ["8.8.8.8", "127.0.0.1", "10.0.0.1"] });
    expect(await called("api.test")).toBe("8.8.8.8");
    expect(await named("api.test")).toBe("refused");
    expect(await named("api.test")).toBe("refused");
  });

  test("names other public hosts as it likes", async () => {
    const { checked, named } = guardOf("https://api.test/v3", { "cdn.test": ["1.1.1.1"] });
    expect([checked("https://1.1.1.1/a"), await named("cdn.test")]).toEqual(["open", "1.1.1.1"]);
  });
});

test("a service inside a network has its own origin fetched from there, and nothing else", async () => {
  const { called, named, checked } = guardOf("http://api.corp:8080/v3", {
    "api.corp": ["10.0.0.5"],
    "db.corp": ["10.0.0.6"],
    "here.corp": ["127.0.0.1"],
  });
  await called("api.corp");
  expect([checked("http://api.corp:8080/a"), await named("api.corp")]).toEqual(["open", "10.0.0.5"]);
  expect([checked("http://api.corp:9200/a"), checked("http://10.0.0.5:8080/a")]).toEqual(["refused", "refused"]);
  expect([await named("db.corp"), await named("here.corp")]).toEqual(["refused", "refused"]);
});

test("a service on this machine has any port of this machine fetched from, and no network", async () => {
  const { checked, named } = guardOf("http://127.0.0.1:8787/v3", { localhost: ["::1"], "db.corp": ["10.0.0.6"] });
  expect([checked("http://127.0.0.1:9000/a"), await named("localhost")]).toEqual(["open", "::1"]);
  expect([checked("http://169.254.169.254/latest"), await named("db.corp")]).toEqual(["refused", "refused"]);
});

describe("a download", () => {
  const open: FakeService[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });

  test.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])(
    "that a public service sends to %s is refused before anything is sent, and leaves nothing behind",
    async (host) => {
      const victim = await fakeService((_request, response) => void response.end("secret of this machine"));
      open.push(victim);
      const client = createClient({ baseUrl: "http://8.8.8.8:9/v3", apiKey: "key_1:a-secret-part" });
      const folder = newFolder();
      const url = victim.origin.replace("127.0.0.1", host);
      const refused = client.download(url, join(folder, "a.png"));
      await expect(refused).rejects.toMatchObject({ code: "DOWNLOAD_FAILED", reason: "forbidden-address" });
      await client.close();
      expect([victim.seen.length, readdirSync(folder)]).toEqual([0, []]);
    },
  );

  test("of an output is refused alike, by whatever the job says of its address", async () => {
    const job = { job_id: "job_1", status: "COMPLETED", outputs: [{ status: "COMPLETED", url: "http://10.0.0.1/a" }] };
    const { client } = await setUp([json(200, job)]);
    const target = join(newFolder(), "a");
    const refused = client.download({ jobId: "job_1", outputIndex: 0 }, target);
    await expect(refused).rejects.toMatchObject({ reason: "forbidden-address" });
  });

  test.each(["drips for ever", "stalls after its headers"])("that %s ends with its time limit", async (how) => {
    const { client, service } = await setUp([
      (_request, response) => {
        response.writeHead(200, { "content-length": 1_000_000 }).flushHeaders();
        if (how === "drips for ever") response.write("a");
      },
    ]);
    const target = join(newFolder(), "a");
    const ended = client.download(`${service.origin}/a`, target, { maxMs: 50 });
    await expect(ended).rejects.toMatchObject({
      reason: "incomplete",
      message: expect.stringContaining("in the time"),
    });
  });
});

test("what was fetched goes up again only when its bytes are media", async () => {
  const { client, service } = await setUp([json(201, { url: "https://files.test/a", expires_at: null })]);
  const credentials = { bytes: Buffer.from('{"AccessKeyId":"AKIA","SecretAccessKey":"x"}') };
  await expect(client.upload(credentials, { kind: "media" })).rejects.toMatchObject({ reason: "wrong-kind" });
  expect(service.seen.length).toBe(0);
});
