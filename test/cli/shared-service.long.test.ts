import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { emptyFolder, startCli } from "./support/cli.ts";

vi.setConfig({ testTimeout: 240_000 });

/** Waits for a file by that name before it asks for its picture. */
const gated = (name: string) => `import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("${name}", {
  input: z.object({}),
  build({ job, task }) {
    const prompt = task("prompt", {}, async () => {
      while (!existsSync("${name}-go")) await delay(50);
      return "a quay";
    });
    return { picture: job("picture", "image-1", { prompt }) };
  },
});
`;

for (const signal of ["SIGKILL", "SIGINT"] as const) {
  test(`two runs share one embedded service; when the first one's process ends by ${signal}, the second one hosts it [G43]`, async () => {
    const cwd = emptyFolder();
    for (const name of ["a", "b"]) writeFileSync(join(cwd, `${name}.ts`), gated(name));
    const begin = async (name: string) => {
      const started = startCli(["run", `${name}.ts`, "--id", name], { cwd });
      let said = "";
      await new Promise<void>((resolve) => {
        started.child.stderr?.on("data", (text: string) => {
          said += text;
          if (said.includes(`Run ${name}`)) resolve();
        });
      });
      return { ...started, address: /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] };
    };
    const first = await begin("a");
    const second = await begin("b");
    expect(second.address).toBe(first.address);
    first.child.kill(signal);
    await first.end;
    writeFileSync(join(cwd, "b-go"), "");
    const { code, stderr } = await second.end;
    expect(code, stderr).toBe(0);
    expect(existsSync(join(cwd, "out/b/picture.png"))).toBe(true);
    writeFileSync(join(cwd, "a-go"), "");
    const resumed = await startCli(["resume", "a"], { cwd }).end;
    expect(resumed.code, resumed.stderr).toBe(0);
  });
}
