import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** Who opened the printed address once may come back without it. */
export interface Session {
  readonly token: string;
  /** True when this is the token of the opened address. */
  isToken(text: string): boolean;
  /** True when this `Cookie` header proves that the address was opened. */
  isKnown(cookies: string | undefined): boolean;
  /** `Set-Cookie` for one who showed the token. */
  cookie(): string;
}

const LEAST_LENGTH = 16;

/** The cookie holds a digest, so that it cannot be turned back into the address; cookies ignore ports, hence its name. */
export function createSession(token: string | undefined, port: number): Session {
  const secret = token ?? randomBytes(24).toString("base64url");
  if (secret.length < LEAST_LENGTH) throw new TypeError(`token: give at least ${LEAST_LENGTH} characters.`);
  const name = `showrunner_${port}`;
  const value = hash("sha256", `session ${secret}`);
  return {
    token: secret,
    isToken: (text) => isSame(text, secret),
    isKnown: (cookies) => cookieValues(cookies, name).some((given) => isSame(given, value)),
    cookie: () => `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`,
  };
}

/** Takes as long for a wrong guess as for a right one: digests of equal length are compared. */
function isSame(given: string, requested: string): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", given)), Buffer.from(hash("sha256", requested)));
}

function cookieValues(header: string | undefined, name: string): readonly string[] {
  return (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
