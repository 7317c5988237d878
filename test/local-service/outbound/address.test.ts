import fc from "fast-check";
import { expect, test } from "vitest";
import { kindOfAddress } from "../../../src/local-service/outbound/address.ts";

test.each([
  ["this network", "0.0.0.0"],
  ["private, 10/8", "10.0.0.1"],
  ["private, 10/8, its end", "10.255.255.255"],
  ["shared by carriers", "100.64.0.1"],
  ["shared by carriers, its end", "100.127.255.255"],
  ["a metadata service in the shared range", "100.100.100.200"],
  ["link-local", "169.254.0.1"],
  ["the metadata service", "169.254.169.254"],
  ["a cloud's platform service", "168.63.129.16"],
  ["private, 172.16/12", "172.16.0.1"],
  ["private, 172.16/12, its end", "172.31.255.255"],
  ["protocol assignments", "192.0.0.192"],
  ["private, 192.168/16", "192.168.1.1"],
  ["benchmarks", "198.19.0.1"],
  ["documentation", "203.0.113.9"],
  ["multicast", "224.0.0.1"],
  ["reserved", "240.0.0.1"],
  ["broadcast", "255.255.255.255"],
  ["unspecified", "::"],
  ["private, written as IPv6", "::ffff:10.0.0.1"],
  ["private, written as IPv6 in hex", "::ffff:a00:1"],
  ["metadata, written as IPv6", "::ffff:169.254.169.254"],
  ["IPv4-compatible", "::10.0.0.1"],
  ["unique local", "fd00::1"],
  ["unique local, the other half", "fc00::1"],
  ["the metadata service over IPv6", "fd00:ec2::254"],
  ["link-local IPv6", "fe80::1"],
  ["link-local IPv6 with a zone", "fe80::1%eth0"],
  ["site-local", "fec0::1"],
  ["multicast IPv6", "ff02::1"],
  ["documentation IPv6", "2001:db8::1"],
  ["newer documentation IPv6", "3fff::1"],
  ["6to4 around a private address", "2002:a00:1::1"],
  ["Teredo", "2001:0:4136:e378::1"],
  ["NAT64 around a private address", "64:ff9b::10.0.0.1"],
  ["NAT64 around loopback", "64:ff9b::127.0.0.1"],
  ["local NAT64", "64:ff9b:1::1"],
  ["no address at all", "example.com"],
])("%s is blocked: %s", (_name, address) => {
  expect(kindOfAddress(address)).toBe("blocked");
});

test.each(["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1"])(
  "%s is this machine",
  (address) => {
    expect(kindOfAddress(address)).toBe("loopback");
  },
);

test.each([
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700::1111",
  "2a00:1450:4001::200e",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
])("%s is public", (address) => {
  expect(kindOfAddress(address)).toBe("public");
});

test("an IPv4 address is judged alike however it is written as IPv6", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      const kind = kindOfAddress(address);
      for (const form of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`]) {
        expect(kindOfAddress(form)).toBe(kind);
      }
    }),
  );
});
