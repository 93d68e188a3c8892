/**
 * The BIMI record of a domain (draft-brand-indicators-for-message-identification 4): the one that we propose, and what
 * a published one says. Pure.
 */
export const BIMI_SELECTOR = 'default'
const MAX_TAGS = 20
const URL_LENGTH = 1000

export function bimiName(domain: string): string {
  return `${BIMI_SELECTOR}._bimi.${domain}`
}

/** The files that a record names. */
export interface BimiFiles {
  readonly logoUrl: string
  /** The mark certificate; null: none. */
  readonly certificateUrl: string | null
}

export function bimiRecordValue({ logoUrl, certificateUrl }: BimiFiles): string {
  return `v=BIMI1; l=${logoUrl};${certificateUrl === null ? '' : ` a=${certificateUrl};`}`
}

export type PublishedBimi =
  | { readonly kind: 'none' }
  /** The domain says that it has no logo. */
  | { readonly kind: 'declined' }
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'record'; readonly files: BimiFiles }

/** Reads the TXT records at the name. Texts that are not about BIMI are ignored, as receivers do. */
export function readBimiRecord(texts: readonly string[]): PublishedBimi {
  const records = texts.filter((text) => /^\s*v[ \t]*=[ \t]*BIMI1[ \t]*(?:;|$)/i.test(text))
  const [text, ...others] = records
  if (text === undefined) {
    const isMeant = texts.some((one) => /bimi/i.test(one))
    return isMeant ? { kind: 'invalid', problem: 'the record does not begin with v=BIMI1;' } : { kind: 'none' }
  }
  if (others.length > 0) return { kind: 'invalid', problem: `there are ${records.length} BIMI records: keep one` }
  const tags = readTags(text)
  const [location, authority] = [tags.get('l'), tags.get('a') ?? '']
  if (location === '' && authority === '') return { kind: 'declined' }
  if (location === undefined || location === '')
    return { kind: 'invalid', problem: 'the record names no logo: add l=https://… with the URL of an SVG file' }
  const logo = readBrandUrl(location)
  if (!logo.ok) return { kind: 'invalid', problem: `the logo URL in l= ${logo.reason}` }
  const evidence = authority === '' ? null : readBrandUrl(authority)
  if (evidence?.ok === false) return { kind: 'invalid', problem: `the certificate URL in a= ${evidence.reason}` }
  return { kind: 'record', files: { logoUrl: logo.url, certificateUrl: evidence?.url ?? null } }
}

/** Reads a URL of a customer for a record: https with a public name. Its text can be a value of a tag list. */
export function readBrandUrl(text: string): { ok: true; url: string } | { ok: false; reason: string } {
  const url = URL.parse(text.trim())
  if (url === null || url.protocol !== 'https:') return { ok: false, reason: 'must be an https URL' }
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    return { ok: false, reason: 'must have no user name, password or fragment' }
  if (!url.hostname.includes('.')) return { ok: false, reason: 'must have the full name of a host' }
  // semicolons and commas separate the values of a record (RFC 6376 3.2)
  const written = url.href.replaceAll(';', '%3B').replaceAll(',', '%2C')
  if (written.length > URL_LENGTH) return { ok: false, reason: `must have at most ${URL_LENGTH} characters` }
  return { ok: true, url: written }
}

/** A tag list (RFC 6376 3.2), with its values as written. Of a repeated tag the first counts. */
function readTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';').slice(0, MAX_TAGS)) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim().toLowerCase()
    if (at > 0 && !tags.has(name)) tags.set(name, part.slice(at + 1).trim())
  }
  return tags
}
