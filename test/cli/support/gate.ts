import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "./cli.ts";

/** A folder with the pipeline `gate.ts`, which waits for a person once its picture is there. */
export function gateFolder(): string {
  const cwd = emptyFolder();
  writeFileSync(
    join(cwd, "gate.ts"),
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("gate", {
  input: z.object({}),
  build: ({ job, approve }) => ({ fine: approve("fine", job("picture", "image-1", { prompt: "a quay" })) }),
});
`,
  );
  return cwd;
}
