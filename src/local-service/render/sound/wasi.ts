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

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const PREOPENED_DIRECTORY = 3;
const FIRST_FILE = 4;

class ProcessExit extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** A growing byte buffer with a position, as a file opened for writing. */
class MemoryFile {
  bytes = new Uint8Array(1 << 16);
  length = 0;
  position = 0;

  write(chunk: Uint8Array): void {
    const end = this.position + chunk.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.bytes.length * 2));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    this.bytes.set(chunk, this.position);
    this.position = end;
    this.length = Math.max(this.length, end);
  }

  seek(offset: number, whence: number): number {
    const origin = whence === 0 ? 0 : whence === 1 ? this.position : this.length;
    this.position = Math.max(0, origin + offset);
    return this.position;
  }
}

/** What a command left behind: its exit status, the bytes of the file it wrote and what it said. */
export interface CommandResult {
  readonly status: number;
  readonly file: Uint8Array;
  readonly talk: string;
}

/** Runs `module` once with `args` (args[0] is the program's name); every path it opens is the one output file. */
export function runCommand(module: WasmModule, args: readonly string[]): CommandResult {
  const file = new MemoryFile();
  const talk: Uint8Array[] = [];
  let memory = emptyMemory();
  const view = () => new DataView(memory.buffer);
  const encoded = args.map((arg) => new TextEncoder().encode(`${arg.replaceAll("\0", " ")}\0`));

  const host = {
    args_sizes_get(countPtr: number, sizePtr: number) {
      view().setUint32(countPtr, encoded.length, true);
      view().setUint32(
        sizePtr,
        encoded.reduce((sum, bytes) => sum + bytes.length, 0),
        true,
      );
      return SUCCESS;
    },
    args_get(listPtr: number, textPtr: number) {
      let at = textPtr;
      encoded.forEach((bytes, i) => {
        view().setUint32(listPtr + 4 * i, at, true);
        new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
        at += bytes.length;
      });
      return SUCCESS;
    },
    clock_time_get(_id: number, _precision: bigint, timePtr: number) {
      view().setBigUint64(timePtr, 0n, true);
      return SUCCESS;
    },
    fd_close: () => SUCCESS,
    fd_fdstat_get(fd: number, statPtr: number) {
      if (fd > FIRST_FILE) return BAD_DESCRIPTOR;
      const isDirectory = fd === PREOPENED_DIRECTORY;
      const isFile = fd === FIRST_FILE;
      view().setUint8(statPtr, isDirectory ? 3 : isFile ? 4 : 2);
      view().setUint16(statPtr + 2, 0, true);
      view().setBigUint64(statPtr + 8, 0xffffffffffffffffn, true);
      view().setBigUint64(statPtr + 16, 0xffffffffffffffffn, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_prestat_get(fd: number, statPtr: number) {
      if (fd !== PREOPENED_DIRECTORY) return BAD_DESCRIPTOR;
      view().setUint8(statPtr, 0);
      view().setUint32(statPtr + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name(fd: number, pathPtr: number) {
      if (fd !== PREOPENED_DIRECTORY) return BAD_DESCRIPTOR;
      view().setUint8(pathPtr, "/".charCodeAt(0));
      return SUCCESS;
    },
    fd_read(_fd: number, _vectors: number, _count: number, readPtr: number) {
      view().setUint32(readPtr, 0, true);
      return SUCCESS;
    },
    fd_seek(fd: number, offset: bigint, whence: number, positionPtr: number) {
      if (fd !== FIRST_FILE) return BAD_DESCRIPTOR;
      view().setBigUint64(positionPtr, BigInt(file.seek(Number(offset), whence)), true);
      return SUCCESS;
    },
    fd_write(fd: number, vectors: number, count: number, writtenPtr: number) {
      let written = 0;
      for (let i = 0; i < count; i++) {
        const at = view().getUint32(vectors + 8 * i, true);
        const size = view().getUint32(vectors + 8 * i + 4, true);
        const chunk = new Uint8Array(memory.buffer, at, size);
        if (fd === FIRST_FILE) file.write(chunk);
        else talk.push(chunk.slice());
        written += size;
      }
      view().setUint32(writtenPtr, written, true);
      return SUCCESS;
    },
    path_open(...call: (number | bigint)[]) {
      view().setUint32(Number(call[8]), FIRST_FILE, true);
      return SUCCESS;
    },
    proc_exit(status: number): never {
      throw new ProcessExit(status);
    },
  };

  const { exports } = instantiate(module, { wasi_snapshot_preview1: host });
  const start = exports._start;
  if (!isWasmMemory(exports.memory) || typeof start !== "function") {
    throw new Error("not a WASI command: it exports no memory or no _start");
  }
  memory = exports.memory;
  const status = exitStatus(() => start());
  return { status, file: file.bytes.subarray(0, file.length), talk: Buffer.concat(talk).toString("utf8") };
}

function exitStatus(run: () => void): number {
  try {
    run();
    return 0;
  } catch (error) {
    if (error instanceof ProcessExit) return error.status;
    throw error;
  }
}
