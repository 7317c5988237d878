/** Keys in the formats of providers. */
export const providerKeys = {
  "an id with a secret": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0:9f86d081884c7d659a2feaa0c55ad015",
  "hexadecimal digits": "d41d8cd98f00b204e9800998ecf8427e",
  "a JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhY21lIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  "Google's form": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
  "letters of no form": "plainKeyOfAnyProvider42",
} as const;

/** Forms in which a service may write a secret, so that tests can insert it and search for it. */
export const secretForms: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  "in a header": (secret) => `Authorization: Bearer key_0001:${secret}`,
  "as Basic": (secret) => Buffer.from(`key_0001:${secret}`).toString("base64"),
  "in Base64": (secret) => Buffer.from(secret).toString("base64"),
  "in Base64 after one byte": (secret) => Buffer.from(`x${secret}`).toString("base64url"),
  "in Base64 after two bytes": (secret) => Buffer.from(`xy${secret}!`).toString("base64"),
  "in hex": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "in percent": encodeURIComponent,
  "every byte in percent": (secret) => Buffer.from(secret).toString("hex").replace(/../g, "%$&"),
  "as JSON within": (secret) => JSON.stringify({ said: secret }),
};

/** Finds the parts of a secret in a text, by form. In Base64, the first and last characters also depend on adjacent text. */
export function leaksIn(text: string, secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const cores = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  const url = cores.map((core) => core.replaceAll("+", "-").replaceAll("/", "_"));
  const looked = [
    ...[
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      bytes.toString("hex"),
      ...cores,
      ...url,
    ],
    bytes.toString("hex").replace(/../g, "%$&"),
  ];
  const within = text.toLowerCase();
  return looked.filter((form) => within.includes(form.toLowerCase()));
}
