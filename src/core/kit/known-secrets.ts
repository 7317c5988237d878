export const REDACTED = "[redacted]";

/** The minimum length of a secret. Shorter ones would also match ordinary text. */
const SHORTEST_SECRET = 8;
/** The maximum number of known secrets. A process has a few dozen, but services may hand out any number of new ones. */
const MOST_SECRETS = 1_000;
/**
 * Once this many secrets are known, those that services issue, such as cookies, are no longer added. This leaves room
 * for credentials.
 */
const MOST_HANDED_OUT = 900;

/** Finds known secrets in text, in any encoding, in a single pass. */
export class KnownSecrets {
  readonly #root = emptyNode();
  readonly #known = new Set<string>();
  readonly #begins = new Uint8Array(128);

  constructor(...secrets: readonly string[]) {
    for (const secret of secrets) this.learn(secret);
  }

  /** Registers a secret and, if it contains a colon, the part after the colon. */
  learn(secret: string): void {
    for (const text of [secret, secret.slice(secret.indexOf(":") + 1)]) {
      if (text.length < SHORTEST_SECRET || this.#known.has(text) || this.#known.size >= MOST_SECRETS) continue;
      this.#known.add(text);
      for (const form of formsOf(text)) this.#add(form);
    }
  }

  /** Like {@link learn}, but for secrets that a service issues. Keeps fewer of them, to leave room for credentials. */
  learnHandedOut(secret: string): void {
    if (this.#known.size < MOST_HANDED_OUT) this.learn(secret);
  }

  remove(text: string): string {
    if (this.#known.size === 0 || text.length < SHORTEST_SECRET) return text;
    let [kept, end] = ["", 0];
    for (let start = 0; start < text.length; start++) {
      const code = text.charCodeAt(start);
      if (code > 127 || this.#begins[code] === 0) continue;
      const found = endOf(this.#root, text, { start, at: start });
      if (found === 0) continue;
      if (start >= end) kept += text.slice(end, start) + REDACTED;
      end = Math.max(end, found);
    }
    return end === 0 ? text : kept + text.slice(end);
  }

  #add({ begins, source }: SecretForm): void {
    let node = this.#root;
    for (let at = 0; at < SHORTEST_SECRET; at++) {
      const code = folded(begins.charCodeAt(at));
      const next = node.next.get(code) ?? emptyNode();
      node.next.set(code, next);
      node = next;
    }
    node.forms.push(new RegExp(source, "iy"));
    const first = folded(begins.charCodeAt(0));
    for (let code = 0; code < 128; code++) if (folded(code) === first) this.#begins[code] = 1;
    this.#begins[PERCENT] = 1;
    this.#begins[BACKSLASH] = 1;
  }
}

/** The secrets of this process: every credential that it received as an option, header or environment variable. */
export const secretsOfProcess = new KnownSecrets();

const SECRET_VARIABLE = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;

export function learnEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value = ""] of Object.entries(env)) if (SECRET_VARIABLE.test(name)) secretsOfProcess.learn(value);
}

const SECRET_NAME =
  /secret|passw|passphrase|authorization|cookie|signature|credential|session|(?:api|access|private|signing)key|(?:^|x)auth$|pwd$|token$/;

export function isSecretName(name: string): boolean {
  return name.length < 200 && SECRET_NAME.test(name.replace(/[^a-z0-9]/gi, "").toLowerCase());
}

/** Headers that never contain a credential. All others may contain one. */
const HARMLESS_HEADERS =
  /^(?:accept|age|allow|alt-svc|cache-control|connection|content|cross-origin|date|dnt|early-data|etag|expect|expires|forwarded|from|host|idempotency-key|if|keep-alive|last|link|location|max-forwards|origin|pragma|priority|range|referer|referrer-policy|retry-after|sec-|server|strict-transport-security|te$|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|x-(?:ratelimit|request-id|trace-id|forwarded|idempotent|stainless|should-retry|content|frame|xss|powered))/;

/** Returns possible credentials in request headers, without schemes such as `Bearer`. */
export function credentialsIn(headers: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, given]) => {
    const isHarmless = HARMLESS_HEADERS.test(name.toLowerCase()) && !isSecretName(name);
    return isHarmless || /^(?:set-)?cookie$/i.test(name) ? [] : [given].flat().flatMap(partsOfCredential);
  });
}

function partsOfCredential(value: unknown): readonly string[] {
  if (typeof value !== "string") return [];
  const [, scheme = "", rest = value] = /^(\w+)\s+(.*)$/s.exec(value) ?? [];
  if (/^basic$/i.test(scheme)) return [rest, Buffer.from(rest, "base64").toString("latin1")];
  if (/^digest$/i.test(scheme)) return Array.from(rest.matchAll(/="([^"]*)"/g), ([, part = ""]) => part);
  return [rest];
}

interface SecretForm {
  /** The first characters of this form, unescaped and at least {@link SHORTEST_SECRET} long. */
  readonly begins: string;
  readonly source: string;
}

interface Node {
  readonly next: Map<number, Node>;
  readonly forms: RegExp[];
}

const PERCENT = 0x25;
const BACKSLASH = 0x5c;

function emptyNode(): Node {
  return { next: new Map(), forms: [] };
}

function endOf(node: Node, text: string, { start, at }: { readonly start: number; readonly at: number }): number {
  let longest = 0;
  for (const form of node.forms) {
    form.lastIndex = start;
    if (form.test(text)) longest = Math.max(longest, form.lastIndex);
  }
  const follow = (code: number, length: number) => {
    const next = node.next.get(folded(code));
    if (next !== undefined) longest = Math.max(longest, endOf(next, text, { start, at: at + length }));
  };
  const code = text.charCodeAt(at);
  follow(code, 1);
  if (code === PERCENT) follow(Number.parseInt(text.slice(at + 1, at + 3), 16), 3);
  if (code !== BACKSLASH) return longest;
  follow(text.charCodeAt(at + 1), 2);
  if (/^u00/i.test(text.slice(at + 1, at + 4))) follow(Number.parseInt(text.slice(at + 4, at + 6), 16), 6);
  return longest;
}

/**
 * Maps both cases of a letter to the same code. Does the same for the characters in which the two Base64 alphabets
 * differ.
 */
function folded(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return code - 0x20;
  if (code === 0x2b) return 0x2d;
  return code === 0x5f ? 0x2f : code;
}

/** Returns the forms in which a secret may appear in text: plain, JSON-escaped, percent-encoded, Base64 and hex. */
function formsOf(text: string): readonly SecretForm[] {
  const bytes = Buffer.from(text, "latin1");
  const hex = bytes.toString("hex");
  return [
    { begins: text, source: [...text].map(written).join("") },
    { begins: hex, source: hex },
    // The Base64 form of a text depends on its offset modulo 3. Characters that also encode neighboring text are left
    // out.
    ...[0, 1, 2].map((offset) => base64At(bytes, offset)),
  ];
}

function written(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  return `(?:\\x${hex}|%${hex}|\\\\(?:u00${hex}|\\x${hex}))`;
}

function base64At(bytes: Buffer, offset: number): SecretForm {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64url");
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  const begins = encoded.slice(first, last);
  return { begins, source: begins.replaceAll("-", "[-+]").replaceAll("_", "[_/]") };
}
