/** The most that a download of each kind of media may bring, in bytes. */
export interface DownloadLimits {
  /** Default 512 MiB. */
  readonly image?: number | undefined;
  /** Default 2 GiB. */
  readonly audio?: number | undefined;
  /** Default 8 GiB. */
  readonly video?: number | undefined;
  /** Whatever is none of them: some stores give every file one type. Default 8 GiB. */
  readonly other?: number | undefined;
}

const MIB = 1024 ** 2;
const DEFAULTS = { image: 512 * MIB, audio: 2048 * MIB, video: 8192 * MIB, other: 8192 * MIB } as const;

/** What a download may bring by what its server says that it is. */
export function downloadLimit(limits: DownloadLimits, contentType: string | null): number {
  const kind = (["image", "audio", "video"] as const).find((one) => contentType?.toLowerCase().startsWith(`${one}/`));
  return limits[kind ?? "other"] ?? DEFAULTS[kind ?? "other"];
}
