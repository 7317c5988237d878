import { UnmarkableError } from "./source.ts";

/** IPTC digital source types for media made by a model and for composites with such media. */
export type DigitalSourceType = (typeof sourceTypes)[number];

export const sourceTypes = ["trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia"] as const;

export const NEWS_CODES = "http://cv.iptc.org/newscodes/digitalsourcetype/";

export const MOST_XMP_BYTES = 1024 * 1024;

export function xmpText(bytes: Uint8Array): string {
  if (bytes.length > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UnmarkableError("its XMP is not in UTF-8");
  }
}

export function sourceTypeIn(packet: string): string | null {
  const attribute = /[\s:]DigitalSourceType\s*=\s*["']([^"'<>]{1,500})["']/.exec(packet)?.[1];
  const [, attributes = "", text = ""] =
    /<(?:[\w.-]{1,64}:)?DigitalSourceType(?=[\s/>])([^<>]{0,1000})>([^<>]{0,500})/.exec(packet) ?? [];
  const resource = /\bresource\s*=\s*["']([^"'<>]{1,500})["']/.exec(attributes)?.[1];
  return [attribute, resource, text.trim()].find((found) => found !== undefined && found !== "") ?? null;
}

export function linksManifest(packet: string): boolean {
  return /<(?:[\w.-]{1,64}:)?provenance[\s>]|[\s:]provenance\s*=\s*["']/.test(packet);
}

export function withSourceType(packet: string | null, type: DigitalSourceType): string {
  if (packet === null) return newPacket(description("", type));
  const closing = [...packet.matchAll(/<\/(?:[\w.-]{1,64}:)?RDF\s{0,100}>/g)].at(-1)?.index;
  if (closing === undefined) throw new UnmarkableError("its XMP cannot be read");
  // All descriptions in a packet share one subject, usually the empty one.
  const about = /\babout\s*=\s*["']([^"'<>&]{0,500})["']/.exec(packet)?.[1] ?? "";
  return `${packet.slice(0, closing)}${description(about, type)}${packet.slice(closing)}`;
}

/** A description declares its own prefixes, because the packet may use others. */
function description(about: string, type: DigitalSourceType): string {
  const property = `<Iptc4xmpExt:DigitalSourceType>${NEWS_CODES}${type}</Iptc4xmpExt:DigitalSourceType>`;
  const names =
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"';
  return `<rdf:Description rdf:about="${about}" ${names}>${property}</rdf:Description>\n`;
}

function newPacket(descriptions: string): string {
  return `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
${descriptions}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`;
}
