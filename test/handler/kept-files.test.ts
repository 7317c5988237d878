import { mkdtemp, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { file, pipeline } from "../../src/index.ts";
import { greyPng } from "../../src/placeholder-media.ts";
import { keepFile } from "../../src/served/index.ts";
import { localShow } from "../support/local-show.ts";
import { errorOf, serve } from "./support/served.ts";

const world = localShow();
let filesDir: string;

beforeAll(async () => {
  // Below the working folder, as by default: a path there begins with none of the signs of one.
  filesDir = await mkdtemp(join(process.cwd(), "node_modules", "sent-"));
});
afterAll(() => rm(filesDir, { recursive: true, force: true }));

/** Opens what its input names, whether a file was sent for it or not. */
const named = pipeline("named", {
  input: z.object({ name: z.string(), photo: file("image").optional() }),
  build: ({ upload, input }) => ({ photo: upload("photo", { path: input.name, kind: "image" }) }),
});

test("a file that somebody else sent is opened for nobody who names where it is kept", async () => {
  const api = serve(world.show, filesDir, { pipelines: { named } });
  const photo = greyPng(8, 8);
  const kept = await keepFile(
    (async function* () {
      yield photo;
    })(),
    { folder: filesDir, name: "theirs.png", mostBytes: 1e6, tooLarge: () => new Error() as never },
  );
  const name = relative(process.cwd(), kept.path);
  for (const written of [name, `${name.split("/")[0]}/./${name.split("/").slice(1).join("/")}`]) {
    const refused = await api.post("/api/named/quote", { input: { name: written } }, { as: "rival" });
    expect([refused.status, (await errorOf(refused)).field]).toEqual([400, "input"]);
  }
  const form = new FormData();
  form.set("input", JSON.stringify({ name }));
  form.set("photo", new File([photo], "theirs.png"));
  const own = await api.send("/api/named/quote", { as: "rival", method: "POST", body: form });
  expect([own.status, await own.text()]).toEqual([200, expect.stringContaining("usd")]);
});
