/** What DNS holds at `_dmarc` (RFC 7489 6.3), judged as a receiver would: it takes one valid record, or none. Pure. */
import { type Finding, missing, ok, wrong } from './record-finding.ts'

const POLICIES = ['none', 'quarantine', 'reject']
/** Something that was meant to be a policy. */
const MEANT = /dmarc1?\b|^\s*["']?\s*v\s*=\s*dmarc/i

export function judgeDmarc(texts: readonly string[]): Finding {
  const records = texts.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
  const [text, ...others] = records
  if (text === undefined) return explainNone(texts)
  if (others.length > 0)
    return wrong(`there are ${records.length} DMARC records, which counts as none (RFC 7489 6.6.3): keep one`)
  const tags = readTags(text)
  const policy = tags.get('p')
  if (policy === undefined) return wrong('the DMARC record has no policy: add p=none, or stricter')
  for (const name of ['p', 'sp']) {
    const value = tags.get(name)
    if (value === undefined || POLICIES.includes(value)) continue
    return wrong(`the DMARC record says ${name}=${value.slice(0, 40)}, which is not one of ${POLICIES.join(', ')}`)
  }
  return ok(`DMARC is there, with the policy ${policy}`)
}

function explainNone(texts: readonly string[]): Finding {
  const meant = texts.find((text) => MEANT.test(text))
  if (meant === undefined) return missing('there is no DMARC record')
  if (/^\s*["'“]/.test(meant)) return wrong('the value has quotation marks in it: enter it without them')
  return wrong('the DMARC record does not begin with v=DMARC1;')
}

/** Of a tag that stands twice the first counts. */
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
