/** The little of WebAssembly that is used here; the compiler's library has it only together with a browser's globals. */
export interface WasmModule {
  readonly [brand]: never;
}
declare const brand: unique symbol;

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Instance: new (
    module: WasmModule,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
}

// Present in every supported Node; only its types are missing.
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WasmApi };

export const compileWasm = (bytes: Uint8Array): WasmModule => new WebAssembly.Module(bytes);
export const isWasmMemory = (value: unknown): value is WasmMemory => value instanceof WebAssembly.Memory;
export const emptyMemory = (): WasmMemory => new WebAssembly.Memory({ initial: 1 });
export const instantiate = (module: WasmModule, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>) =>
  new WebAssembly.Instance(module, imports);
