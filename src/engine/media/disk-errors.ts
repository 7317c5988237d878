import { ShowrunnerError } from "../../errors.ts";

const MEANINGS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the disk is read-only",
  EIO: "the disk failed",
};

/** Media could not be written to this machine's disk. The run stopped and is kept; what is paid waits at the service. */
export class MediaDiskError extends ShowrunnerError {
  readonly code = "MEDIA_DISK";
  readonly next: string;
  constructor(runId: string, cause: NodeJS.ErrnoException) {
    const where = cause.path === undefined ? "" : ` at ${cause.path}`;
    super(
      `Media of run ${runId} could not be written${where}: ${MEANINGS[cause.code ?? ""]} (${cause.code}). Nothing is lost: the outputs are still at the service and are downloaded again. Free space, then resume.`,
      { cause },
    );
    this.next = `showrunner resume ${runId}`;
  }
}

/** Whether the failure is the disk's own, which no step can be blamed for. */
export function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === "string" && Object.hasOwn(MEANINGS, code);
}
