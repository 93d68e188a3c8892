/**
 * Compares the TXT records at a DKIM name with the expected key (RFC 6376 3.6.1), and describes the problem to the
 * owner of the zone. Tags may have any order and white space; only what would make a verifier fail is a problem. Pure.
 */

/** Null if a verifier will find the key. `texts` are the TXT records of the name, each joined into one string. */
export function findDkimProblem(texts: readonly string[], expected: string): string | null {
  const candidates = texts.filter((text) => /(?:^|[;\s"])p\s*=/.test(text))
  const [text, ...others] = candidates
  if (text === undefined)
    return texts.length === 0 ? 'there is no TXT record' : 'there is a TXT record, but it is not a DKIM key'
  if (others.length > 0) return `there are ${candidates.length} DKIM records at this name: keep only this one`
  if (text.trimStart().startsWith('"')) return 'the value contains quotation marks: enter it without them'
  return compareTags(readTags(text), readTags(expected))
}

function compareTags(found: DkimTags, expected: DkimTags): string | null {
  const [p, expectedKey] = [found.get('p') ?? '', expected.get('p') ?? '']
  if (p !== expectedKey) return describeKeyMismatch(p, expectedKey)
  if ((found.get('v') ?? 'DKIM1') !== 'DKIM1') return `the value has v=${found.get('v')} instead of v=DKIM1`
  const [k, kind] = [found.get('k') ?? 'rsa', expected.get('k') ?? 'rsa']
  if (k !== kind) return `the value has k=${k} instead of k=${kind}`
  const hashes = found.get('h')
  if (!allows(hashes, ['sha256'])) return `the value has h=${hashes}, which does not allow sha256`
  const services = found.get('s')
  if (!allows(services, ['*', 'email'])) return `the value has s=${services}, which does not allow mail`
  return null
}

/** True if a colon-separated list names one of these values; an absent list allows all. */
function allows(list: string | undefined, values: readonly string[]): boolean {
  return list === undefined || list.split(':').some((one) => values.includes(one))
}

function describeKeyMismatch(p: string, expected: string): string {
  if (p === '') return 'its key (p=) is empty, which means revoked'
  if (!expected.startsWith(p)) return 'it contains a different key'
  const advice = 'enter the value as several strings of at most 255 characters'
  return `its key is cut off after ${p.length} of ${expected.length} characters: ${advice}`
}

type DkimTags = ReadonlyMap<string, string>

/** White space inside values is folding (RFC 6376 3.2). Of a repeated tag the first counts. */
function readTags(text: string): DkimTags {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at > 0 && !tags.has(name)) tags.set(name, part.slice(at + 1).replace(/\s+/g, ''))
  }
  return tags
}
