import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { routeOf } from "../../../src/core/kit/proxy-route.ts";

const PROXY = "http://proxy.corp:3128";

function hostOf(url: string, env: Readonly<Record<string, string>>): string | null {
  return routeOf(new URL(url), env).proxy?.url.host ?? null;
}

describe("the proxy of an address", () => {
  test.each([
    ["https://a.example/", { HTTPS_PROXY: PROXY }, "proxy.corp:3128"],
    ["https://a.example/", { https_proxy: PROXY, HTTPS_PROXY: "http://other:1" }, "proxy.corp:3128"],
    ["https://a.example/", { https_proxy: "", HTTPS_PROXY: "proxy.corp:3128" }, "proxy.corp:3128"],
    ["https://a.example/", { HTTP_PROXY: PROXY }, null],
    ["http://a.example/", { HTTP_PROXY: PROXY }, "proxy.corp:3128"],
    ["http://a.example/", { http_proxy: PROXY }, "proxy.corp:3128"],
    ["http://a.example/", { HTTPS_PROXY: PROXY }, null],
    ["http://a.example/", {}, null],
  ])("of %s with %o is %s", (url, env, host) => {
    expect(hostOf(url, env)).toBe(host);
  });

  test.each(["socks5://proxy.corp:1080", "http://", "proxy corp"])(
    "%s is named as none, without what it holds",
    (value) => {
      const wrong = () => routeOf(new URL("https://a.example/"), { HTTPS_PROXY: value });
      expect(wrong).toThrow("HTTPS_PROXY is not an HTTP proxy URL; use a URL such as http://proxy.example.com:3128");
    },
  );

  test("this machine is asked without one, by whatever name", () => {
    const loopback = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map((rest) => `127.${rest.join(".")}`);
    const host = fc.oneof(loopback, fc.constantFrom("localhost", "LOCALHOST.", "api.localhost", "[::1]", "2130706433"));
    const protocol = fc.constantFrom("http", "https");
    fc.assert(
      fc.property(protocol, host, fc.integer({ min: 1, max: 65_535 }), (scheme, name, port) => {
        expect(hostOf(`${scheme}://${name}:${port}/`, { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY })).toBeNull();
      }),
    );
  });
});

describe("NO_PROXY", () => {
  test.each([
    ["*", "https://a.example/", true],
    ["none.example , *", "https://a.example/", true],
    ["*:80", "https://a.example/", false],
    ["a.example", "https://a.example/", true],
    ["A.Example", "https://a.example/", true],
    ["a.example.", "https://a.example/", true],
    ["a.example", "https://a.example./", true],
    ["example", "https://a.example/", true],
    [".example.com", "https://api.example.com/", true],
    [".example.com", "https://example.com/", true],
    ["*.example.com", "https://api.example.com/", true],
    ["*.example.com", "https://example.com/", false],
    ["example.com", "https://notexample.com/", false],
    ["example.com:8443", "https://example.com:8443/", true],
    ["example.com:8443", "https://example.com/", false],
    ["example.com:443", "https://example.com/", true],
    [".example.com:80", "http://api.example.com/", true],
    ["a.example b.example", "https://b.example/", true],
    ["10.1.2.3", "https://10.1.2.3/", true],
    ["10.0.0.0/8", "https://10.1.2.3/", true],
    ["10.0.0.0/8", "https://11.1.2.3/", false],
    ["10.0.0.0/8:8080", "http://10.1.2.3:8080/", true],
    ["10.0.0.0/33", "https://10.1.2.3/", false],
    ["10.0.0.0/x", "https://10.1.2.3/", false],
    ["0.0.0.0/0", "https://a.example/", false],
    ["fd00::1", "https://[fd00::1]/", true],
    ["fd00:0:0::1", "https://[fd00::1]/", true],
    ["[fd00::1]", "https://[fd00::1]/", true],
    ["[fd00::1]:443", "https://[fd00::1]/", true],
    ["[fd00::1]:80", "https://[fd00::1]/", false],
    ["fd00::/8", "https://[fd12:3456::1]/", true],
    ["fd00::/8", "https://[2001:db8::1]/", false],
    [",,", "https://a.example/", false],
  ])("%s for %s: excepted is %s", (value, url, isExcepted) => {
    const env = { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: value };
    expect(routeOf(new URL(url), env)).toMatchObject(
      isExcepted ? { proxy: null, exceptedBy: "NO_PROXY" } : { proxy: { url: new URL(PROXY) }, exceptedBy: null },
    );
  });

  test("in small letters comes first", () => {
    const env = { HTTPS_PROXY: PROXY, no_proxy: "a.example", NO_PROXY: "b.example" };
    expect(["a", "b"].map((name) => hostOf(`https://${name}.example/`, env))).toEqual([null, "proxy.corp:3128"]);
  });
});
