/**
 * Compares the TXT records at a DKIM name with the expected key (RFC 6376 3.6.1), and describes the problem to the
 * owner of the zone. Tags may have any order and white space; only what would make a verifier fail is a problem. Pure.
 */
import type { CodedText } from '#src/platform/coded-text.ts'
import { recordText } from './record-texts.ts'

/** Null if a verifier will find the key. `texts` are the TXT records of the name, each joined into one string. */
export function findDkimProblem(texts: readonly string[], expected: string): CodedText | null {
  const candidates = texts.filter((text) => /(?:^|[;\s"])p\s*=/.test(text))
  const [text, ...others] = candidates
  if (text === undefined) return recordText(texts.length === 0 ? 'txt_missing' : 'dkim_not_a_key')
  if (others.length > 0) return recordText('dkim_several', { count: candidates.length })
  if (text.trimStart().startsWith('"')) return recordText('quoted')
  return compareTags(readTags(text), readTags(expected))
}

function compareTags(found: DkimTags, expected: DkimTags): CodedText | null {
  const [p, expectedKey] = [found.get('p') ?? '', expected.get('p') ?? '']
  if (p !== expectedKey) return describeKeyMismatch(p, expectedKey)
  const version = found.get('v') ?? 'DKIM1'
  if (version !== 'DKIM1') return recordText('dkim_version', { found: version })
  const [k, kind] = [found.get('k') ?? 'rsa', expected.get('k') ?? 'rsa']
  if (k !== kind) return recordText('dkim_key_type', { found: k, expected: kind })
  const hashes = found.get('h') ?? 'sha256'
  if (!allows(hashes, ['sha256'])) return recordText('dkim_hash', { found: hashes })
  const services = found.get('s') ?? '*'
  if (!allows(services, ['*', 'email'])) return recordText('dkim_service', { found: services })
  return null
}

/** True if a colon-separated list names one of these values. */
function allows(list: string, values: readonly string[]): boolean {
  return list.split(':').some((one) => values.includes(one))
}

function describeKeyMismatch(p: string, expected: string): CodedText {
  if (p === '') return recordText('dkim_revoked')
  if (!expected.startsWith(p)) return recordText('dkim_other_key')
  return recordText('dkim_cut', { length: p.length, expected: expected.length })
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
