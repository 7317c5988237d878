/** Local files with bytes from the store. They are read-only, and remain in place until released. */
export interface HeldMedia extends AsyncDisposable {
  /** Returns the path of the file. Throws for a hash that was not requested. */
  path(sha256: string): string;
  sizeBytes(sha256: string): number;
}

interface HeldFile {
  readonly path: string;
  readonly sizeBytes: number;
}

export function heldMedia(files: ReadonlyMap<string, HeldFile>, release = async () => {}): HeldMedia {
  const file = (sha256: string) => {
    const found = files.get(sha256);
    if (found === undefined) throw new Error(`${sha256} is not held.`);
    return found;
  };
  return {
    path: (sha256) => file(sha256).path,
    sizeBytes: (sha256) => file(sha256).sizeBytes,
    [Symbol.asyncDispose]: release,
  };
}
