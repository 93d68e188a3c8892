/**
 * Parses the TXT record at _smtp._tls, where a domain names the destinations of its TLS reports (RFC 8460 3). Third
 * parties write it, so only the first few valid mail and HTTPS destinations are used.
 */
import { parseAddress } from '#src/mail/address.ts'

export type ReportDestination =
  | { readonly kind: 'mail'; readonly address: string; readonly domain: string }
  | { readonly kind: 'https'; readonly url: string }

const RECORD = /^v=TLSRPTv1[ \t]*;/
const MAX_DESTINATIONS = 4
/** The report is ASCII, and so is the header field with its recipient. */
const PLAIN = /^[\x21-\x7e]+$/

export function hasReportRecord(records: readonly string[]): boolean {
  return records.filter((text) => RECORD.test(text)).length === 1
}

/** Empty when there is no record, or more than one. */
export function parseDestinations(records: readonly string[]): ReportDestination[] {
  if (!hasReportRecord(records)) return []
  const record = records.find((text) => RECORD.test(text)) ?? ''
  const uris =
    /;\s*rua\s*=([^;]*)/
      .exec(record)?.[1]
      ?.split(',')
      .map((uri) => uri.trim()) ?? []
  return uris.flatMap(parseUri).slice(0, MAX_DESTINATIONS)
}

function parseUri(uri: string): ReportDestination[] {
  if (/^https:\/\//i.test(uri)) return URL.canParse(uri) ? [{ kind: 'https', url: uri }] : []
  const [, path] = /^mailto:([^?]*)/i.exec(uri) ?? []
  const parsed = parseAddress(decode(path ?? ''))
  const isPlain = parsed.ok && PLAIN.test(parsed.address.address)
  return isPlain ? [{ kind: 'mail', address: parsed.address.address, domain: parsed.address.domain }] : []
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
