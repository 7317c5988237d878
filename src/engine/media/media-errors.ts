import { ShowrunnerError } from "../../errors.ts";

/** The media store's folder cannot be used as one. */
export class MediaFolderError extends ShowrunnerError {
  readonly code = "MEDIA_FOLDER";

  constructor(dir: string, cause: unknown) {
    super(
      `The media folder ${dir} cannot be made or written to. Make it writable for this user, or choose another one.`,
      { cause },
    );
  }
}

/** The bytes that were asked for are not in the store: never were, or were removed by hand. */
export class MediaMissingError extends ShowrunnerError {
  readonly code = "MEDIA_MISSING";
  readonly sha256: string;

  constructor(sha256: string, dir: string) {
    super(
      `The media folder ${dir} has no bytes with hash ${sha256}. If the folder was moved or cleaned, put it back, then resume.`,
    );
    this.sha256 = sha256;
  }
}

/** A copy of a run's media is damaged or gone, and nobody has its bytes any more. The run stopped and is kept. */
export class MediaLostError extends ShowrunnerError {
  readonly code = "MEDIA_LOST";
  /** The command that goes on. */
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.next = next;
  }
}

/** A file cannot be put where it was asked for: outside the run's folder, or over something that is no file. */
export class MediaPathError extends ShowrunnerError {
  readonly code = "MEDIA_PATH";
}
