/** Of mailauth's own types, the one for its body hash is missing. */
declare module 'mailauth/lib/dkim/body/index.js' {
  import type { BinaryToTextEncoding } from 'node:crypto'
  interface BodyHash {
    update(chunk: Buffer): void
    digest(encoding: BinaryToTextEncoding): string
  }
  export function dkimBody(canonicalization: 'relaxed', algorithm: string): BodyHash
}
