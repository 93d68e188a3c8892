/** dkim-signer 0.2.2 has no types of its own. Only what the tests use. */
declare module 'dkim-signer' {
  import type { KeyLike } from 'node:crypto'
  interface SigningOptions {
    /** The d= tag. */
    readonly domainName: string
    /** The s= tag. */
    readonly keySelector: string
    /** An RSA key; the package knows no other algorithm. */
    readonly privateKey: KeyLike
  }
  /** The DKIM-Signature field (rsa-sha256, relaxed/relaxed) of a whole message, folded, without its last line end. */
  export function DKIMSign(message: string | Buffer, options: SigningOptions): string
}
