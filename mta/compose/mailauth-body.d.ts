/** Of mailauth's own types, the one for its body hash is missing. */
declare module 'mailauth/lib/dkim/body/index.js' {
  import type { BinaryToTextEncoding } from 'node:crypto'
  export function dkimBody(canonicalization: 'relaxed', algorithm: string): { update(chunk: Buffer): void; digest(encoding: BinaryToTextEncoding): string }
}
