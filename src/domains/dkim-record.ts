/**
 * Compares what DNS holds at a DKIM name with what should be there (RFC 6376 3.6.1), and says what to mend, in words for the owner of
 * the zone. Tags may stand in any order and with any white space; only what a verifier would stumble over is a problem. Pure.
 */

/** Null when a verifier will find our key. `texts` are the TXT records of the name, each in one piece. */
export function findProblem(texts: readonly string[], expected: string): string | null {
  const candidates = texts.filter((text) => /(?:^|[;\s"])p\s*=/.test(text))
  const [text, ...others] = candidates
  if (text === undefined)
    return texts.length === 0 ? 'there is no TXT record' : 'there is a TXT record, but it is no DKIM key'
  if (others.length > 0) return `there are ${candidates.length} DKIM records at this name: keep only this one`
  if (text.trimStart().startsWith('"')) return 'the value has quotation marks in it: enter it without them'
  return compare(readTags(text), readTags(expected))
}

function compare(found: Tags, expected: Tags): string | null {
  const [p, wanted] = [found.get('p') ?? '', expected.get('p') ?? '']
  if (p !== wanted) return explainKey(p, wanted)
  if ((found.get('v') ?? 'DKIM1') !== 'DKIM1') return `the value says v=${found.get('v')} and not v=DKIM1`
  const [k, kind] = [found.get('k') ?? 'rsa', expected.get('k') ?? 'rsa']
  if (k !== kind) return `the value says k=${k} and not k=${kind}`
  const hashes = found.get('h')
  if (!allows(hashes, ['sha256'])) return `the value says h=${hashes}, which does not allow sha256`
  const services = found.get('s')
  if (!allows(services, ['*', 'email'])) return `the value says s=${services}, which does not allow mail`
  return null
}

/** Whether a list with colons names one of these; a list that is not there allows all. */
function allows(list: string | undefined, wanted: readonly string[]): boolean {
  return list === undefined || list.split(':').some((one) => wanted.includes(one))
}

function explainKey(p: string, wanted: string): string {
  if (p === '') return 'the key in it (p=) is empty, which means revoked'
  if (!wanted.startsWith(p)) return 'it holds another key'
  const advice = 'enter the value as several strings of at most 255 characters'
  return `the key in it is cut off after ${p.length} of ${wanted.length} characters: ${advice}`
}

type Tags = ReadonlyMap<string, string>

/** White space inside of values is folding (RFC 6376 3.2); of a tag that stands twice the first counts. */
function readTags(text: string): Tags {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at > 0 && !tags.has(name)) tags.set(name, part.slice(at + 1).replace(/\s+/g, ''))
  }
  return tags
}
