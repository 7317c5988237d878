import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLocalService, startLocalService } from "../../../src/local-service/index.ts";
import { startRecorder } from "../../../src/local-service/recording/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const record = (folder: string) =>
  startRecorder({ baseUrl: "http://127.0.0.1:9/v3", folder, port: 0, keepMedia: false, say: () => {} } as never);
const serve = (dataDir: string) => startLocalService({ dataDir });

const WAYS = [
  ["a recorder", "recorder", record, "RECORDING_UNUSABLE"],
  ["a service", "service", serve, "DATA_DIR_UNUSABLE"],
] as const;

test.each(WAYS)(
  "%s says which file hinders it where its lock is none or cannot be opened, and not that another process has it",
  async (_, name, open, code) => {
    const notes = (lock: string) => writeFile(lock, "These are somebody's notes. ".repeat(100));
    for (const [plant, why] of [
      [notes, "file is not a database"],
      [mkdir, "unable to open"],
    ] as const) {
      const folder = newFolder();
      const lock = join(folder, `${name}.lock`);
      await plant(lock);
      const message = expect.stringContaining(`${lock}: ${why}`);
      await expect(open(folder)).rejects.toMatchObject({ code, message });
      expect(findLocalService(folder)).toBeNull();
    }
  },
);
