import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "./cli.ts";

/** Creates a folder with the pipeline `gate.ts`, which waits for a person after it has made a picture. */
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
