import type { Orientation } from "../../core/kit/media-headers.ts";

/**
 * Color properties of a stream, with values as ffprobe names them. A property that the file does not declare has the
 * value that players assume.
 */
export interface Colors {
  readonly matrix: string;
  readonly primaries: string;
  readonly transfer: string;
  readonly range: "tv" | "pc";
  /** True if the pixels are RGB or gray, so that no color matrix applies. */
  readonly isRgb: boolean;
  readonly hasAlpha: boolean;
  readonly isDeclared: boolean;
}

export interface ShownAs {
  /** The rotation that a filter has to apply. 1 (none) for video, which ffmpeg rotates itself. */
  readonly turn: Orientation;
  /** True if a frame's even and odd lines may have been recorded at different times. */
  readonly isInterlaced: boolean;
  readonly colors: Colors;
}

export interface DeclaredColors {
  readonly height?: number | undefined;
  readonly pix_fmt?: string | undefined;
  readonly color_range?: string | undefined;
  readonly color_space?: string | undefined;
  readonly color_transfer?: string | undefined;
  readonly color_primaries?: string | undefined;
}

const KNOWN =
  /^(?:bt709|fcc|bt470m|bt470bg|smpte170m|smpte240m|smpte428|smpte431|smpte432|film|ycgco|ictcp|bt2020n?c?|smpte2084|arib-std-b67|linear)$/;
const isKnown = (name: string | undefined): name is string => name !== undefined && KNOWN.test(name);
const RGB = /^(?:0?rgb|0?bgr|x2|gbr|[ar]?rgba?|[ar]?bgra?|argb|abgr|pal8|gray|mono|ya)/;
const ALPHA = /^(?:yuva|gbrap|ya\d|pal8|[ar]?rgba|[ar]?bgra|argb|abgr)/;
/** A film with no declared colors and fewer lines than this is assumed to use standard-definition colors. */
const HD_LINES = 720;

export function colorsOf(stream: DeclaredColors, isStill: boolean): Colors {
  const { height = 0, pix_fmt = "", color_range, color_space, color_transfer, color_primaries } = stream;
  const isRgb = RGB.test(pix_fmt);
  const matrix = isKnown(color_space) ? color_space : isStill || height < HD_LINES ? "smpte170m" : "bt709";
  return {
    matrix: /^bt2020/.test(matrix) ? "bt2020nc" : matrix,
    primaries: isKnown(color_primaries) ? color_primaries : /^bt2020/.test(matrix) ? "bt2020" : "bt709",
    transfer: isKnown(color_transfer) ? color_transfer : "bt709",
    range: color_range === "pc" || /^yuvj/.test(pix_fmt) || (isRgb && color_range !== "tv") ? "pc" : "tv",
    isRgb,
    hasAlpha: ALPHA.test(pix_fmt),
    isDeclared: color_range === "pc" || [color_space, color_transfer, color_primaries].some(isKnown),
  };
}

export function hdrName({ transfer }: Colors): string | null {
  if (transfer === "smpte2084") return "PQ";
  return transfer === "arib-std-b67" ? "HLG" : null;
}

export const TONE_MAPPING: readonly string[] = ["zscale", "tonemap"];

const TURNS: { readonly [orientation in Orientation]: readonly string[] } = {
  1: [],
  2: ["hflip"],
  3: ["hflip", "vflip"],
  4: ["vflip"],
  5: ["transpose=cclock_flip"],
  6: ["transpose=clock"],
  7: ["transpose=clock_flip"],
  8: ["transpose=cclock"],
};

export function isPlain({ colors }: ShownAs): boolean {
  return !colors.isRgb && (!colors.isDeclared || isBt709(colors));
}

function isBt709({ transfer, matrix, primaries, range }: Colors): boolean {
  return isUsual(transfer) && matrix === "bt709" && primaries === "bt709" && range === "tv";
}

const isUsual = (transfer: string) => !/^(?:smpte2084|arib-std-b67|linear)$/.test(transfer);

/** HDR's reference white in cd/m², and how many times brighter highlights can be (BT.2408). */
const [WHITE, PEAK] = [203, 4.93];

/**
 * Returns a filter that makes frames upright, progressive, opaque and limited-range BT.709. HDR frames are scaled down
 * first with the filter `shrink`, if given.
 */
export function shownFilter({ turn, isInterlaced, colors }: ShownAs, shrink?: string): string {
  const { matrix, primaries, range, isRgb, hasAlpha } = colors;
  const opaque = hasAlpha ? [...(isRgb ? ["format=gbrap"] : []), "premultiply=inplace=1"] : [];
  const whole = isInterlaced ? ["bwdif=mode=send_frame:deint=interlaced"] : [];
  const turned = [...whole, ...opaque, ...(turn === 1 ? [] : [...TURNS[turn], "sidedata=delete:DISPLAYMATRIX"])];
  const declared = (transfer: string) =>
    `setparams=range=${range}:colorspace=${matrix}:color_primaries=${primaries}:color_trc=${transfer}`;
  if (isRgb) {
    return [...turned, FROM_RGB, "format=yuv444p", TAGGED].join();
  }
  if (!isUsual(colors.transfer)) {
    const linear = `zscale=t=linear:npl=${WHITE},format=gbrpf32le,zscale=p=bt709`;
    const mapped = `tonemap=mobius:param=0.97:peak=${PEAK}:desat=0,zscale=t=bt709:m=bt709:r=tv,format=yuv420p`;
    return [...turned, ...(shrink === undefined ? [] : [shrink]), declared(colors.transfer), linear, mapped].join();
  }
  if (isBt709(colors)) return [...turned, TAGGED].join();
  return [
    ...turned,
    declared("bt709"),
    EVEN,
    "colorspace=space=bt709:primaries=bt709:trc=bt709:range=tv:format=yuv420p",
  ].join();
}

/** Makes sizes even, as the colorspace filter requires. */
const EVEN = "scale=2*trunc(iw/2):2*trunc(ih/2)";
const TAGGED = "setparams=range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709";

/** Filter that converts RGB to BT.709. It must not scale as well, because ffmpeg would then use a different matrix. */
export const FROM_RGB = "scale=in_range=full:out_range=tv:out_color_matrix=bt709";

export const AS_RGB = "scale=in_color_matrix=bt709:in_range=tv,format=rgb24";

export function laidOverFilter({ turn }: ShownAs, scaled: string, opacity: number): string {
  const turned = TURNS[turn].map((filter) => `${filter},`).join("");
  return `${turned}format=rgba,${scaled},colorchannelmixer=aa=${opacity},${FROM_RGB},format=yuva420p`;
}
