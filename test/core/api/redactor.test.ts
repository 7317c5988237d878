import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor } from "../../../src/core/api/redactor.ts";
import { leaksIn, secretForms } from "../../support/secret-forms.ts";

const printable = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const secret = fc.string({ unit: printable, minLength: 8, maxLength: 40 }).filter((text) => /[A-Za-z]/.test(text));
const form = fc.constantFrom(...Object.values(secretForms));

/** A JSON value in which some names and texts hold the secret. */
const holding = (said: string) =>
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.tuple(fc.string(), fc.string()).map(([before, after]) => `${before}${said}${after}`),
      fc.jsonValue(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(
          fc.string(),
          fc.string().map((name) => name + said),
        ),
        tie("value"),
        { maxKeys: 3 },
      ),
    ),
  })).value;

test("nothing of the credential is left in what a service says, whatever field, name or header it stands in and however it is written [G31]", () => {
  const cases = secret.chain((hidden) =>
    form.chain((write) => fc.tuple(fc.constant(hidden), holding(write(hidden)), fc.constant(write(hidden)))),
  );
  fc.assert(
    fc.property(cases, ([hidden, value, said]) => {
      const redactor = createRedactor(`key_0001:${hidden}`);
      expect(leaksIn(JSON.stringify(redactor.json(JSON.stringify(value))), hidden)).toEqual([]);
      expect(leaksIn(redactor.text(`so ${said} it is`), hidden)).toEqual([]);
      expect(leaksIn(JSON.stringify(redactor.headers({ "x-said": said, "set-cookie": [said] })), hidden)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("a letter that is escaped in JSON does not hide the credential", () => {
  const hidden = "plain-secret-text";
  const letters = [...hidden].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  expect(createRedactor(`key_0001:${hidden}`).json(`{"said":"${letters}"}`)).toEqual({ said: "[redacted]" });
});

test("what does not hold the credential is what it was", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(createRedactor("key_0001:Zq3$kW9-notthere").json(text)).toEqual(JSON.parse(text));
    }),
  );
});

test("an address keeps its query and loses the credential only", () => {
  const { json } = createRedactor("key_0001:a-secret-part");
  expect(json('{"url":"https://s3.test/a?sig=1&by=a-secret-part"}')).toEqual({
    url: "https://s3.test/a?sig=1&by=[redacted]",
  });
});

test("an answer nested without end is cut, and does not end the process", () => {
  const deep = `${"[".repeat(100_000)}"a-secret-part"${"]".repeat(100_000)}`;
  expect(JSON.stringify(createRedactor("key_0001:a-secret-part").json(deep)).length).toBeLessThan(5_000);
});
