import { JournalCorruptError } from "./errors.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface Columns {
  text(row: Row, name: string): string;
  integer(row: Row, name: string): number;
  textOrNull(row: Row, name: string): string | null;
  integerOrNull(row: Row, name: string): number | null;
  realOrNull(row: Row, name: string): number | null;
  json(row: Row, name: string): unknown;
}

export function columnsOf(path: string): Columns {
  const damaged = (name: string): never => {
    throw new JournalCorruptError(
      path,
      `Column ${name} in ${path} has an invalid value: the journal is damaged. Restore it from a copy.`,
    );
  };
  const text = (row: Row, name: string) => {
    const value = row[name];
    return typeof value === "string" ? value : damaged(name);
  };
  const number = (row: Row, name: string) => {
    const value = row[name];
    return typeof value === "number" ? value : damaged(name);
  };
  const orNull = <T>(read: (row: Row, name: string) => T) => {
    return (row: Row, name: string) => (row[name] === null ? null : read(row, name));
  };
  return {
    text,
    integer: number,
    textOrNull: orNull(text),
    integerOrNull: orNull(number),
    realOrNull: orNull(number),
    json(row, name) {
      try {
        return JSON.parse(text(row, name));
      } catch {
        return damaged(name);
      }
    },
  };
}
