/**
 * The result of a DNS query as a value. A query without a response is `failed`, which is always temporary. `isSecure`:
 * a validating resolver authenticated the response, or the absence of the record (the AD bit, RFC 6840 5.7). Only
 * queries that request it have it.
 */
interface DnsSecurity {
  readonly isSecure?: boolean
}

export type DnsAnswer<T> =
  | ({ readonly kind: 'found'; readonly records: readonly T[] } & DnsSecurity)
  /** No such record: the name exists without one (NODATA), or the name does not exist (NXDOMAIN). */
  | ({ readonly kind: 'nothing'; readonly isName: boolean } & DnsSecurity)
  | { readonly kind: 'failed'; readonly text: string }

/** The records, and their TTL if it is known. */
export interface DnsRecords<T> extends DnsSecurity {
  readonly records: readonly T[]
  readonly ttlSeconds: number | null
}
export type TimedDnsAnswer<T> = Exclude<DnsAnswer<T>, { kind: 'found' }> | ({ readonly kind: 'found' } & DnsRecords<T>)

/** RFC 6698 2.1 */
export interface TlsaRecord {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  readonly certificate: Buffer
}

/** A name as zone files write it (RFC 1035 5.1): an octet that is not printable ASCII becomes `\DDD`. */
export function printableName(name: string): string {
  return name.replace(/[^\x21-\x7e]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`)
}
