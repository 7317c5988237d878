import { ShowrunnerError } from "../../kit/errors.ts";
import { MediaBucketError } from "./bucket/bucket-errors.ts";

const MEANINGS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the disk is read-only",
  EIO: "the disk failed",
};

/**
 * Media could not be written to this machine's disk. The run stopped and can be resumed; paid results stay on the
 * service.
 */
export class MediaDiskError extends ShowrunnerError {
  readonly code = "MEDIA_DISK";
  readonly next: string;
  constructor(runId: string, cause: NodeJS.ErrnoException) {
    const where = cause.path === undefined ? "" : ` at ${cause.path}`;
    super(
      `Media of run ${runId} could not be written${where}: ${MEANINGS[cause.code ?? ""]} (${cause.code}). Nothing is lost: the outputs are still on the service and will be downloaded again. Free space, then resume.`,
      { cause },
    );
    this.next = `showrunner resume ${runId}`;
  }
}

export function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === "string" && Object.hasOwn(MEANINGS, code);
}

export function isStoreError(error: unknown): boolean {
  return isDiskError(error) || error instanceof MediaBucketError;
}

/** The media folder cannot be used. */
export class MediaFolderError extends ShowrunnerError {
  readonly code = "MEDIA_FOLDER";

  constructor(dir: string, cause: unknown) {
    super(
      `The media folder ${dir} cannot be created or written to. Make it writable for this user, or choose another folder.`,
      { cause },
    );
  }
}

/** The requested file is not in the media store: it was never there, or was removed. */
export class MediaMissingError extends ShowrunnerError {
  readonly code = "MEDIA_MISSING";
  readonly sha256: string;

  constructor(sha256: string, location: string) {
    super(`${location} has no media with hash ${sha256}. If the file was moved or deleted, put it back, then resume.`);
    this.sha256 = sha256;
  }
}

/**
 * A stored copy of a run's media is damaged or missing, and no other copy exists. The run stopped and can be resumed.
 */
export class MediaLostError extends ShowrunnerError {
  readonly code = "MEDIA_LOST";
  /** The step that must run again. Null if the only remedy is to put the file back. */
  readonly step: string | null;

  constructor(message: string, step: string | null) {
    super(message);
    this.step = step;
  }
}

/**
 * A file cannot be written to the requested path: the path is outside the run's folder, or leads to something other
 * than a file.
 */
export class MediaPathError extends ShowrunnerError {
  readonly code = "MEDIA_PATH";
}
