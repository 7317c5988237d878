import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  isHolderDead,
  isHolderGone,
  LONGEST_LEASE_MS,
  retireHolder,
  thisHolder,
} from "../../../src/core/journal/host.ts";
import { lacksLinux, testNeeding } from "../../support/absence.ts";

describe("A lease holder", () => {
  const self = thisHolder("a");

  test("names this process in a way that stays the same", () => {
    expect(self).toEqual(thisHolder("a"));
    expect(self).toMatchObject({ pid: process.pid, instance: "a" });
    expect(self.processStart).not.toBe("");
  });

  test("that runs is not dead, whichever engine of the process it is", () => {
    expect(isHolderDead(self)).toBe(false);
    expect(isHolderDead(thisHolder("b"))).toBe(false);
  });

  test("in this process is dead once it says that it is through, and no other engine of the process is", () => {
    const [through, other] = [thisHolder("through"), thisHolder("other")];
    retireHolder(through);
    expect([isHolderDead(through), isHolderDead(other)]).toEqual([true, false]);
  });

  test("is dead once its process is gone, also before anybody collected its exit", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    const pid = child.pid ?? 0;
    expect(isHolderDead({ ...self, pid, processStart: "" })).toBe(false);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    expect(isHolderDead({ ...self, pid, processStart: "" })).toBe(true);
  });

  test("is dead when another process has its number now", () => {
    expect(isHolderDead({ ...self, processStart: `${self.processStart}1` })).toBe(true);
  });

  testNeeding(lacksLinux)("is dead when the machine was started anew since", () => {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    expect(self.bootId).toContain(boot);
    expect(isHolderDead({ ...self, bootId: self.bootId.replace(boot, "another-boot") })).toBe(true);
  });

  test("of another container on this kernel is not known dead, though its number is not in use here", () => {
    const elsewhere = { ...self, bootId: `${self.bootId.split("|")[0]}|pid:[1]`, pid: 2 ** 22 - 1, processStart: "1" };
    expect(isHolderDead(elsewhere)).toBe(false);
  });

  const elsewhere = { ...self, host: `${self.host}-2`, bootId: "x", pid: 2 ** 22 - 1 };

  test("on another host is never known dead", () => {
    expect(isHolderDead(elsewhere)).toBe(false);
    expect(isHolderDead(elsewhere, LONGEST_LEASE_MS)).toBe(false);
    // Its clock may be a little ahead of this one.
    expect(isHolderDead(elsewhere, LONGEST_LEASE_MS + 5_000)).toBe(false);
  });

  test("on another host whose lease is to last a day had a wrong clock, and keeps nobody out; here, it is asked about", () => {
    const dayMs = 24 * 3_600_000;
    expect([isHolderDead, isHolderGone].map((look) => [look(elsewhere, dayMs), look(self, dayMs)])).toEqual([
      [true, false],
      [true, false],
    ]);
  });
});
