import { z } from "zod";
import { text } from "./lenient.ts";

/** One page of a list. `nextCursor` is null at the end. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

/** The list wrapper around items of one kind. */
export const pageOf = <T>(item: z.ZodType<T>) =>
  z
    .object({ data: z.array(item), next_cursor: text })
    .transform((wire): Page<T> => ({ data: wire.data, nextCursor: wire.next_cursor }));
