/**
 * Passes over the octets of a text, written in WebAssembly (octets.wat): transfer encodings, and the relaxed form that
 * DKIM signs. Each thread has one instance; a large text gets one of its own, whose memory goes with it. Results are
 * views of that memory, valid until the next text is loaded. Synchronous: about 1 ms for a megabyte. Throws only if
 * there is no memory.
 */
import { OCTETS_MODULE } from './octets-module.ts'

interface Passes {
  readonly memory: WebAssembly.Memory
  readonly nonAscii: WebAssembly.Global
  readonly longest: WebAssembly.Global
  readonly hasNul: WebAssembly.Global
  readonly hasFrom: WebAssembly.Global
  inspect(from: number, to: number): void
  isStrict(from: number, to: number): number
  copyLines(from: number, to: number, out: number): number
  quote(from: number, to: number, out: number): number
  relax(from: number, to: number, out: number): number
  encode(from: number, to: number, out: number): number
}

/** What decides about the transfer encoding of a text. */
export interface TextTraits {
  /** Octets beyond ASCII. */
  readonly nonAscii: number
  /** Octets of the longest line, without its end. */
  readonly longest: number
  readonly hasNul: boolean
  /** A line begins with "From ". */
  readonly hasFrom: boolean
}

const PAGE = 64 * 1024
/** Behind the input and behind the output. */
const BLOCK = 16
/** The most that a pass writes for an octet. */
const GROWTH = 4
/** Octets of a text for which the memory suffices that an instance begins with: 1.6 MB of 8 MB. */
export const MAX_SHARED = Math.floor((128 * PAGE - 3 * BLOCK) / (1 + GROWTH))

let compiled: WebAssembly.Module | null = null
let shared: LoadedOctets | null = null

/** A text in the memory of an instance. */
class LoadedOctets {
  readonly #passes: Passes
  readonly #memory: Buffer
  #length = 0
  #out = 0

  constructor(length: number) {
    compiled ??= new WebAssembly.Module(Buffer.from(OCTETS_MODULE, 'base64'))
    this.#passes = new WebAssembly.Instance(compiled).exports as Passes
    const { memory } = this.#passes
    const missing = length * (1 + GROWTH) + 3 * BLOCK - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE))
    this.#memory = Buffer.from(memory.buffer)
  }

  load(text: string | Buffer): this {
    this.#length = typeof text === 'string' ? this.#memory.write(text) : text.copy(this.#memory)
    this.#out = this.#length + BLOCK
    return this
  }

  traits(): TextTraits {
    const passes = this.#passes
    passes.inspect(0, this.#length)
    return {
      nonAscii: passes.nonAscii.value,
      longest: passes.longest.value,
      hasNul: passes.hasNul.value === 1,
      hasFrom: passes.hasFrom.value === 1,
    }
  }

  /** Whether there is no NUL, and CR and LF occur only as CRLF. */
  get isStrict(): boolean {
    return this.#passes.isStrict(0, this.#length) === 1
  }

  /** With every CRLF, bare CR and bare LF as one CRLF. */
  lines(): Buffer {
    return this.#memory.subarray(this.#out, this.#passes.copyLines(0, this.#length, this.#out))
  }

  /** In quoted-printable (RFC 2045 §6.7), lines as in `lines`. "From " at the start of a line is encoded, too. */
  quoted(): Buffer {
    return this.#memory.subarray(this.#out, this.#passes.quote(0, this.#length, this.#out))
  }

  /** In base64 (RFC 2045 §6.8), with a CRLF between two lines of 76 characters and none at the end. */
  base64(): Buffer {
    return this.#memory.subarray(this.#out, this.#passes.encode(0, this.#length, this.#out))
  }

  /** Relaxed (RFC 6376 §3.4.4), but with the empty lines at the end. The last line may lack its end. */
  relaxed(): Buffer {
    return this.#memory.subarray(this.#out, this.#passes.relax(0, this.#length, this.#out))
  }
}

/**
 * Loads a text, as UTF-8, or octets, also the result of a pass. What was loaded before and its results are no longer
 * valid.
 */
export function loadOctets(text: string | Buffer): LoadedOctets {
  const length = typeof text === 'string' && text.length * 3 > MAX_SHARED ? Buffer.byteLength(text) : text.length
  if (length > MAX_SHARED) return new LoadedOctets(length).load(text)
  shared ??= new LoadedOctets(0)
  return shared.load(text)
}
