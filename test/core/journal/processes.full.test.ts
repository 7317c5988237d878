import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { interleavingsContract } from "./interleavings.ts";
import { processesContract } from "./processes.ts";

const folder = mkdtempSync(join(tmpdir(), "journal-shared-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = () => join(folder, "new", `${++files}.db`);

processesContract("SQLite", place);
interleavingsContract("SQLite", place, process.env.SHOWRUNNER_TEST_RUNS === undefined ? 80 : 1000);
