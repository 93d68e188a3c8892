/** Of mailauth's own types, the one for its verifier is missing. */
declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  import type { Writable } from 'node:stream'
  import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'
  /** It has its results when it is finished. */
  export class DkimVerifier extends Writable {
    constructor(options: DKIMVerifyOptions)
    readonly results: DKIMVerifyResult['results']
  }
}
