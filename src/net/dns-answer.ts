/**
 * What a DNS question comes to: always a value. What nobody answered is `failed`, which is temporary, always.
 * `isSecure`: a validating resolver vouches for the answer, also for the answer that there is none (the AD bit, RFC 6840 5.7).
 * Only questions that are asked for it have it.
 */
interface Secured {
  readonly isSecure?: boolean
}

export type Lookup<T> =
  | ({ readonly kind: 'found'; readonly records: readonly T[] } & Secured)
  /** There is no such record: the name exists without one (NODATA), or there is no such name (NXDOMAIN). */
  | ({ readonly kind: 'nothing'; readonly isName: boolean } & Secured)
  | { readonly kind: 'failed'; readonly text: string }

/** What a question brings: the records, and how long they hold where DNS says so. */
export interface Records<T> extends Secured {
  readonly records: readonly T[]
  readonly ttlSeconds: number | null
}
export type Asked<T> = Exclude<Lookup<T>, { kind: 'found' }> | ({ readonly kind: 'found' } & Records<T>)

/** RFC 6698 2.1 */
export interface TlsaRecord {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  readonly certificate: Buffer
}
