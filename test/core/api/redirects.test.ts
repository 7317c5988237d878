import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient, DownloadError } from "../../../src/core/api/index.ts";
import { type FakeService, fakeService } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { PIXEL } from "../../support/tiny-media.ts";

/** `/5` redirects five times, to a relative and an absolute address by turns; `/to?…` to wherever is asked. */
let service: FakeService;
let client: Client;
const folder = newFolder();
beforeAll(async () => {
  service = await fakeService(({ path }, answer) => {
    const { origin } = service;
    const url = new URL(path, origin);
    const left = Number(url.pathname.slice(1));
    if (url.pathname === "/to") answer.writeHead(307, { location: url.search.slice(1) }).end();
    else if (left > 0) answer.writeHead(302, { location: `${left % 2 ? origin : ""}/${left - 1}` }).end("moved");
    else answer.writeHead(200, { "content-type": "image/png" }).end(PIXEL);
  });
  client = createClient({ baseUrl: service.baseUrl, apiKey: "key:secret" });
});
afterAll(async () => {
  await client.close();
  await service.close();
});

const fetched = (path: string) => client.download(`${service.origin}${path}`, join(folder, "output"));
const refusal = (path: string) =>
  fetched(path).then(
    () => "fetched",
    (error: unknown) => (error instanceof DownloadError ? error.reason : error),
  );

test("an output's URL is followed through five redirects, and no credential goes along [key to its service]", async () => {
  expect(await fetched("/5")).toMatchObject({ sizeBytes: PIXEL.length, contentType: "image/png" });
  expect(service.seen.length).toBe(6);
  expect(service.seen.filter(({ headers }) => headers.authorization ?? headers.cookie)).toEqual([]);
});

test("a sixth redirect is refused at once", async () => {
  expect(await refusal("/6")).toBe("refused");
});

test.each(["http://10.0.0.1/x", "http://169.254.169.254/latest", "file:///etc/passwd"])(
  "a redirect to %s is judged as an address that the service named",
  async (target) => {
    expect(await refusal(`/to?${target}`)).toBe("forbidden-address");
  },
);
