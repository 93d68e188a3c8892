/** Checks the TXT records at `_dmarc` (RFC 7489 6.3) as a receiver would: exactly one valid record, or none. Pure. */
import { type RecordFinding, missing, ok, wrong } from './record-finding.ts'
import { recordText } from './record-texts.ts'

const POLICIES = ['none', 'quarantine', 'reject']
/** Text that was probably meant to be a DMARC record. */
const LOOKS_LIKE_DMARC = /dmarc1?\b|^\s*["']?\s*v\s*=\s*dmarc/i

/** The tags of the record that receivers apply; null: there is none, or several, or it has no policy. */
export function readDmarcRecord(texts: readonly string[]): ReadonlyMap<string, string> | null {
  const [text = ''] = recordsIn(texts)
  return checkDmarcRecord(texts).status === 'ok' ? readTags(text) : null
}

function recordsIn(texts: readonly string[]): string[] {
  return texts.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
}

export function checkDmarcRecord(texts: readonly string[]): RecordFinding {
  const records = recordsIn(texts)
  const [text, ...others] = records
  if (text === undefined) return describeMissing(texts)
  if (others.length > 0) return wrong(recordText('dmarc_several', { count: records.length }))
  const tags = readTags(text)
  const policy = tags.get('p')
  if (policy === undefined) return wrong(recordText('dmarc_without_policy'))
  for (const name of ['p', 'sp']) {
    const value = tags.get(name)
    if (value === undefined || POLICIES.includes(value)) continue
    return wrong(recordText('dmarc_policy', { tag: name, found: value.slice(0, 40), policies: POLICIES.join(', ') }))
  }
  return ok(recordText('dmarc_published', { policy }))
}

function describeMissing(texts: readonly string[]): RecordFinding {
  const malformed = texts.find((text) => LOOKS_LIKE_DMARC.test(text))
  if (malformed === undefined) return missing(recordText('dmarc_missing'))
  if (/^\s*["'“]/.test(malformed)) return wrong(recordText('quoted'))
  return wrong(recordText('dmarc_version'))
}

/** Of a repeated tag the first counts. */
function readTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim().toLowerCase()
    if (at > 0 && !tags.has(name))
      tags.set(
        name,
        part
          .slice(at + 1)
          .trim()
          .toLowerCase(),
      )
  }
  return tags
}
