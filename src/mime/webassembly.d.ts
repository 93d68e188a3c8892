/** What is used of WebAssembly, which belongs to the DOM for TypeScript. */
declare namespace WebAssembly {
  interface Module {
    readonly isModule: unique symbol
  }
  const Module: new (bytes: Uint8Array) => Module
  class Instance {
    constructor(module: Module)
    readonly exports: unknown
  }
  interface Memory {
    readonly buffer: ArrayBuffer
    /** @returns the pages of 64 KB before. Views of `buffer` have no octets afterwards. */
    grow(pages: number): number
  }
  interface Global {
    readonly value: number
  }
}
