/** What a field of a v2 body may hold. */
export type Shape =
  | { readonly is: "text" | "id" | "url" | "boolean" | "word" | "point" }
  | { readonly is: "choice"; readonly of: readonly string[] }
  | { readonly is: "number"; readonly min?: number; readonly max?: number; readonly integer?: true }
  /** One id or a list of them. */
  | { readonly is: "ids"; readonly orOne?: true }
  | { readonly is: "list"; readonly item: Shape }
  | { readonly is: "record"; readonly fields: Fields }
  /** Any value of a v2 response; not validated. */
  | { readonly is: "answer" };

export interface Field {
  readonly shape: Shape;
  readonly isRequired?: true;
}

export type Fields = { readonly [name: string]: Field };

export const text: Field = { shape: { is: "text" } };
export const word: Field = { shape: { is: "word" } };
export const id: Field = { shape: { is: "id" } };
export const ids: Field = { shape: { is: "ids" } };
export const url: Field = { shape: { is: "url" } };
export const boolean: Field = { shape: { is: "boolean" } };
export const number = (min?: number, max?: number): Field => ({
  shape: { is: "number", ...(min !== undefined && { min }), ...(max !== undefined && { max }) },
});
export const whole = (min?: number, max?: number): Field => ({
  shape: { is: "number", integer: true, ...(min !== undefined && { min }), ...(max !== undefined && { max }) },
});
export const choice = (...of: readonly string[]): Field => ({ shape: { is: "choice", of } });
export const record = (fields: Fields): Field => ({ shape: { is: "record", fields } });
export const list = (item: Field): Field => ({ shape: { is: "list", item: item.shape } });
export const required = (field: Field): Field => ({ ...field, isRequired: true });
