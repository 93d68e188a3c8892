/**
 * Parses an SPF record into its terms (RFC 7208 4.6.1). Pure; accepts any text, and describes errors for the owner of
 * the zone.
 */

export interface SpfTerm {
  /** Qualifier of a mechanism; + is the default. */
  readonly qualifier: '+' | '-' | '~' | '?'
  /** Lower case. */
  readonly name: string
  /** Lower case, without a prefix length; null if absent. */
  readonly domain: string | null
}

export type SpfRecord =
  | { readonly ok: true; readonly terms: readonly SpfTerm[] }
  | { readonly ok: false; readonly term: string }

const NEEDS_VALUE = new Set(['include', 'exists', 'ip4', 'ip6', 'redirect'])
const MECHANISMS = new Set(['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'])
const MECHANISM = /^([+\-~?]?)([a-z][a-z0-9]*)(?::([^/]*))?((?:\/\d{1,3})?(?:\/\/\d{1,3})?)$/
const ADDRESS = /^([+\-~?]?)(ip[46]):([0-9a-f.:]+)(\/\d{1,3})?$/
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(.*)$/

/** Selects the SPF records among TXT records: the version alone, or followed by a space (RFC 7208 4.5). */
export function findSpf(texts: readonly string[]): string[] {
  return texts.filter((text) => /^v=spf1(?: |$)/i.test(text))
}

export function readSpf(text: string): SpfRecord {
  const terms: SpfTerm[] = []
  for (const word of text.toLowerCase().split(' ').slice(1)) {
    if (word === '') continue
    const term = readTerm(word)
    if (term === null) return { ok: false, term: JSON.stringify(word.slice(0, 80)) }
    terms.push(term)
  }
  return { ok: true, terms }
}

function readTerm(word: string): SpfTerm | null {
  const [, modifier, value = ''] = MODIFIER.exec(word) ?? []
  if (modifier === 'redirect' && value === '') return null
  if (modifier !== undefined) return { qualifier: '+', name: modifier, domain: bare(value) }
  const [, sign = '', name = '', domain] = ADDRESS.exec(word) ?? MECHANISM.exec(word) ?? []
  if (!MECHANISMS.has(name) || (NEEDS_VALUE.has(name) && (domain ?? '') === '') || domain === '') return null
  return {
    qualifier: sign === '' ? '+' : (sign as SpfTerm['qualifier']),
    name,
    domain: domain === undefined ? null : bare(domain),
  }
}

function bare(domain: string): string {
  return domain.replace(/\.$/, '')
}
