import fc from "fast-check";
import { expect, test } from "vitest";
import { kindOfAddress } from "../../../src/local-service/outbound/destination.ts";
import { blockedAddresses, loopbackAddresses, publicAddresses } from "../../support/address-cases.ts";

test.each(blockedAddresses)("%s is blocked: %s", (_name, address) => {
  expect(kindOfAddress(address)).toBe("blocked");
});

test.each(loopbackAddresses)("%s is this machine", (address) => {
  expect(kindOfAddress(address)).toBe("loopback");
});

test.each(publicAddresses)("%s is public", (address) => {
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
