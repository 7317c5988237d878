import { expect, test } from "vitest";
import { clientOf, get, read, start } from "./support/service.ts";

const PATH = "/models/speech-1/voices/search";

test("voices are found by name and label, the best fits first, your own among them and nobody else's", async () => {
  const service = await start();
  const names = async (query: string) =>
    (await read(service, `${PATH}?${query}`)).data.map(({ name }: { name: string }) => name);
  expect(await names("q=SALLY")).toEqual(["Sally"]);
  expect(await names("q=al")).toEqual(["Alan", "Sally"]);
  expect(await names("q=american")).toEqual(["Sally", "Robert", "Kevin"]);
  expect(await names("q=american&gender=male")).toEqual(["Robert", "Kevin"]);
  expect(await names("q=american&limit=1")).toEqual(["Sally"]);
  expect(await names("q=american&language=fr")).toEqual([]);
  expect(await names("q=nobody")).toEqual([]);
  const { data } = await read(service, `${PATH}?q=sally`);
  expect(Object.keys(data[0])).toEqual(["id", "name", "preview_url", "labels"]);
});

test("a bad query is refused by its field, and an unknown model is a 404", async () => {
  const service = await start();
  for (const [query, field] of [
    ["", "q"],
    ["q=%20", "q"],
    [`q=${"x".repeat(201)}`, "q"],
    ["q=x&limit=51", "limit"],
    ["q=x&limit=0", "limit"],
    ["q=x&gender=robot", "gender"],
    ["q=x&language=abcdefghi", "language"],
  ] as const) {
    const { status, body } = await get(service, `${PATH}?${query}`);
    expect([query, status, body.error?.param]).toEqual([query, 400, field]);
  }
  expect((await get(service, "/models/nothing/voices/search?q=x")).status).toBe(404);
});

test("our client finds the voice that the list has", async () => {
  const service = await start();
  const client = clientOf(service);
  const [found] = await client.searchVoices("speech-1", { q: "robert", gender: "male", language: "en", limit: 5 });
  const { data } = await client.voices("speech-1").page();
  expect(found).toEqual(data.find(({ name }) => name === "Robert"));
});
