/**
 * What a receiver meets when it evaluates the SPF record of a name: the record itself, all that it includes, and the limits of RFC 7208
 * 4.6.4 (10 terms that ask DNS, 2 answers that are empty). Says whether we are among those who may send, and what stops the evaluation.
 *
 * Work is bounded for whatever a zone holds: the walk ends with the eleventh term, a loop, the third empty answer, or its time. DNS that
 * does not answer makes the finding unknown, never wrong.
 */
import type { Answer, DomainDns } from './dns.ts'
import { type Finding, missing, ok, unknown, wrong } from './record-finding.ts'
import { findSpf, readSpf, type SpfTerm } from './spf-record.ts'

/** How a record names us: `include:` the bounce domain, or `a:` the server. */
export interface SpfTarget {
  readonly include: string
  readonly server: string
}

const MAX_LOOKUPS = 10
const MAX_VOID = 2
const MAX_MS = 10_000
const ASKING = new Set(['include', 'a', 'mx', 'ptr', 'exists', 'redirect'])

interface Walk {
  readonly dns: DomainDns
  readonly target: SpfTarget
  readonly endsAt: number
  lookups: number
  voids: number
  namesUs: boolean
}

/** Null: this part is in order. */
type Trouble = Finding | null

/** Looks at the SPF record of a name and follows it to its end. */
export async function inspectSpf(dns: DomainDns, name: string, target: SpfTarget): Promise<Finding> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  const [text, ...others] = findSpf(answer.records)
  if (text === undefined)
    return answer.records.some((one) => IN_QUOTES.test(one)) ? wrong(QUOTED) : missing('there is no SPF record')
  if (others.length > 0)
    return wrong(
      `there are ${others.length + 1} SPF records, which makes all of them void (RFC 7208 4.5): merge them into one`,
    )
  const walk: Walk = { dns, target, endsAt: performance.now() + MAX_MS, lookups: 0, voids: 0, namesUs: false }
  const trouble = await followRecord(walk, text, [name], true)
  if (trouble !== null) return trouble
  return walk.namesUs
    ? ok(`SPF names us, with ${walk.lookups} of ${MAX_LOOKUPS} DNS lookups`)
    : wrong(`the SPF record does not name us: put include:${target.include} into it, before "all"`)
}

const IN_QUOTES = /^\s*["'“]+\s*v=spf1/i
const QUOTED = 'the value has quotation marks in it: enter it without them'

/** `path` are the names that lead here, the last one is the record's own. `isOpen`: whoever matches here may send. */
async function followRecord(walk: Walk, text: string, path: readonly string[], isOpen: boolean): Promise<Trouble> {
  const record = readSpf(text)
  if (!record.ok) return wrong(`the SPF record${at(path)} is not valid: ${record.reason}`)
  const end = record.terms.findIndex(({ name }) => name === 'all')
  const reached = end < 0 ? record.terms : record.terms.slice(0, end)
  const redirects = reached.filter(({ name }) => name === 'redirect')
  // with "all" a redirect is not looked at (RFC 7208 6.1); without it, it comes last wherever it stands
  const terms = [...reached.filter(({ name }) => name !== 'redirect'), ...(end < 0 ? redirects : [])]
  for (const term of terms) {
    const trouble = await followTerm(walk, term, path, isOpen)
    if (trouble !== null) return trouble
  }
  return null
}

async function followTerm(walk: Walk, term: SpfTerm, path: readonly string[], isOpen: boolean): Promise<Trouble> {
  if (!ASKING.has(term.name)) return null
  walk.lookups++
  if (walk.lookups > MAX_LOOKUPS)
    return wrong(
      `the SPF record needs more than ${MAX_LOOKUPS} DNS lookups, which makes it void (RFC 7208 4.6.4): take some out`,
    )
  if (performance.now() > walk.endsAt) return unknown('the SPF record takes too long to follow')
  const mayPass = isOpen && term.qualifier === '+'
  const host = term.domain ?? path.at(-1) ?? ''
  if (term.name === 'a' && mayPass && host === walk.target.server) walk.namesUs = true
  if (term.name === 'include' || term.name === 'redirect') return followInclude(walk, host, path, mayPass)
  // a macro depends on the mail, and nobody evaluates ptr: they count, and are not asked
  if (host.includes('%') || term.name === 'ptr' || term.name === 'exists') return null
  return countVoid(walk, await (term.name === 'mx' ? walk.dns.mx(host) : walk.dns.addresses(host)), path)
}

async function followInclude(walk: Walk, host: string, path: readonly string[], mayPass: boolean): Promise<Trouble> {
  if (host.includes('%')) return null
  if (path.includes(host)) return wrong(`the SPF record includes itself, by way of ${host}: receivers give up on it`)
  const isOurs = host === walk.target.include
  if (isOurs && mayPass) walk.namesUs = true
  const answer = await walk.dns.txt(host)
  if (answer.kind === 'failed') return unknown(`${host}, which it includes, cannot be read: ${answer.reason}`)
  const [text, ...others] = findSpf(answer.records)
  const owner = isOurs ? ': the operator of this service has to publish it' : ''
  if (text === undefined) return wrong(`it includes ${host}, which has no SPF record${owner}`)
  if (others.length > 0) return wrong(`it includes ${host}, which has ${others.length + 1} SPF records${owner}`)
  return followRecord(walk, text, [...path, host], mayPass)
}

function countVoid(walk: Walk, answer: Answer<unknown>, path: readonly string[]): Trouble {
  if (answer.kind === 'failed') return unknown(`a name in the SPF record${at(path)} cannot be read: ${answer.reason}`)
  if (answer.records.length === 0) walk.voids++
  if (walk.voids <= MAX_VOID) return null
  return wrong(`more than ${MAX_VOID} names in the SPF record do not exist, which makes it void (RFC 7208 4.6.4)`)
}

function at(path: readonly string[]): string {
  return path.length === 1 ? '' : ` of ${path.at(-1)}`
}
