import { createHmac, timingSafeEqual } from "node:crypto";

export function createPresigner(key: string, origin: () => string) {
  const mac = (path: string, expires: string) =>
    createHmac("sha256", key).update(`${path}\n${expires}`).digest("base64url");
  return {
    sign(path: string, expiresAtMs: number): string {
      const expires = String(Math.floor(expiresAtMs / 1000));
      return `${origin()}${path}?expires=${expires}&signature=${mac(path, expires)}`;
    },
    verify(path: string, expires: string, signature: string, now: number): "valid" | "expired" | "forged" {
      const expected = Buffer.from(mac(path, expires));
      const given = Buffer.from(signature);
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) return "forged";
      return Number(expires) * 1000 > now ? "valid" : "expired";
    },
  };
}

export type Presigner = ReturnType<typeof createPresigner>;
