import { tmpdir } from "node:os";
import { join } from "node:path";

/** Environment with a shared compile cache: hundreds of processes load the same sources and start in half the time. */
export const compileCache = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "showrunner-test-compile-cache"),
};
