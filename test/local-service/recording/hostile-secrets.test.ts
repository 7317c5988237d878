import fc from "fast-check";
import { expect, test } from "vitest";
import { Cleaner } from "../../../src/local-service/recording/cleaner.ts";
import { isFull } from "../../support/sample.ts";
import { leaksIn, secretForms } from "../../support/secret-forms.ts";
import { words } from "../../support/word-list.ts";

const BODIES = isFull ? 20_000 : 200;
/** Known by the header of a request; known by the name of its field alone; known by its form alone. */
const [SENT, NAMED] = ["sent-9f86d081884c7d659a2f", "named-77aC0xQ3vB1kZ"];
const FORMED = "github_pat_11ABCDEFG0abcdefghijkl_0123456789";

const word = fc.constantFrom("user", "note", "data", "list", "prompt", "0", "__proto__x", "größe");
const secretName = fc.constantFrom(
  ...words("accessToken auth_token csrf-token API-KEY apiKey db_pwd passphrase clientSecret Set-Cookie"),
);
const sent = fc.constantFrom(...Object.values(secretForms)).map((write) => write(SENT));
const leaf = fc.oneof(
  sent,
  fc.constant(`see ${FORMED} there`),
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.constantFrom(null, true),
);
type Tree = unknown;
const { tree } = fc.letrec<{ tree: Tree; inner: Tree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 5 }, leaf, tie("inner")),
  inner: fc.oneof(
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(word, tie("tree"), { maxKeys: 3 }),
    // A whole subtree below a name of a secret.
    fc
      .tuple(secretName, fc.constantFrom<Tree>(NAMED, [NAMED], { any: { depth: [NAMED] } }))
      .map(([name, is]) => ({ [name]: is })),
    // A text that is JSON, or a form, with such a name in it.
    fc.tuple(secretName, word).map(([name, other]) => JSON.stringify({ [other]: { [name]: NAMED } })),
    fc.tuple(secretName, word).map(([name, other]) => `${other}=1&${encodeURIComponent(name)}=${NAMED}&x=2`),
    fc.tuple(secretName).map(([name]) => `https://cdn.example/x?${name}=${NAMED}`),
  ),
}));

test(`of ${BODIES} bodies with secrets at any place none brings one into a recording [no secrets recorded]`, () => {
  fc.assert(
    fc.property(
      fc.dictionary(word, tree, { minKeys: 1, maxKeys: 4 }),
      fc.constantFrom("request", "answer", "text"),
      (body, as) => {
        const cleaner = new Cleaner(new Map());
        cleaner.learnRequest({ "x-anything": SENT, authorization: `Bearer ${SENT}` });
        const text = JSON.stringify(body);
        const kept = JSON.stringify(cleaner[as as "request" | "answer" | "text"](text)) ?? "";
        for (const secret of [SENT, NAMED, FORMED]) expect(leaksIn(kept, secret), `${text} → ${kept}`).toEqual([]);
      },
    ),
    { numRuns: BODIES },
  );
});
