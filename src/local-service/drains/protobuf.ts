/** The little of the protobuf wire format that log export needs: each function gives one field, tag included. */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;

function rawVarint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const tag = (field: number, wire: number) => rawVarint(BigInt(field * 8 + wire));

/** An int32, int64, enum or bool; negative ones in two's complement. */
export function varintField(field: number, value: bigint): Buffer {
  return Buffer.concat([tag(field, VARINT), rawVarint(value)]);
}

export function fixed64Field(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}

/** A message made of fields, as a field of another. */
export function messageField(field: number, ...parts: readonly Uint8Array[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return Buffer.concat([tag(field, LENGTH_DELIMITED), rawVarint(BigInt(size)), ...parts]);
}

export function stringField(field: number, text: string): Buffer {
  return messageField(field, Buffer.from(text));
}
