/**
 * Evaluates the SPF record of a name as a receiver does: the record, everything it includes, and the limits of RFC 7208
 * 4.6.4 (10 terms that query DNS, 2 void lookups). Reports whether this service may send, and what breaks the
 * evaluation.
 *
 * The work is bounded whatever the zone holds: evaluation ends at the eleventh term, a loop, the third void lookup, or
 * a timeout. If DNS does not answer, the finding is unknown, never wrong.
 */
import type { DnsQueryResult, DomainDns } from './domain-dns.ts'
import { type RecordFinding, missing, ok, unknown, wrong } from './record-finding.ts'
import { findSpf, readSpf, type SpfTerm } from './spf-record.ts'

/** How a record authorises this service: `include:` with the bounce domain, or `a:` with the server name. */
export interface SpfTarget {
  readonly include: string
  readonly server: string
}

const MAX_LOOKUPS = 10
const MAX_VOID_LOOKUPS = 2
const MAX_MS = 10_000
const LOOKUP_TERMS = new Set(['include', 'a', 'mx', 'ptr', 'exists', 'redirect'])

interface SpfEvaluation {
  readonly dns: DomainDns
  readonly target: SpfTarget
  readonly deadline: number
  lookups: number
  voidLookups: number
  includesUs: boolean
}

/** A finding that ends the evaluation; null: continue. */
type SpfProblem = RecordFinding | null

/** Evaluates the SPF record of a name. */
export async function inspectSpf(dns: DomainDns, name: string, target: SpfTarget): Promise<RecordFinding> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  const [text, ...others] = findSpf(answer.records)
  if (text === undefined)
    return answer.records.some((one) => QUOTED_SPF.test(one))
      ? wrong(QUOTED_MESSAGE)
      : missing('there is no SPF record')
  if (others.length > 0)
    return wrong(
      `there are ${others.length + 1} SPF records, which makes all of them invalid (RFC 7208 4.5): merge them into one`,
    )
  const evaluation: SpfEvaluation = {
    dns,
    target,
    deadline: performance.now() + MAX_MS,
    lookups: 0,
    voidLookups: 0,
    includesUs: false,
  }
  const problem = await followRecord(evaluation, text, [name], true)
  if (problem !== null) return problem
  return evaluation.includesUs
    ? ok(`SPF authorises this service, with ${evaluation.lookups} of ${MAX_LOOKUPS} DNS lookups`)
    : wrong(`the SPF record does not authorise this service: add include:${target.include} to it, before "all"`)
}

const QUOTED_SPF = /^\s*["'“]+\s*v=spf1/i
const QUOTED_MESSAGE = 'the value contains quotation marks: enter it without them'

/**
 * `path` is the chain of names that led here, ending with the record's own. `isOpen`: a match here authorises the
 * sender.
 */
async function followRecord(
  evaluation: SpfEvaluation,
  text: string,
  path: readonly string[],
  isOpen: boolean,
): Promise<SpfProblem> {
  const record = readSpf(text)
  if (!record.ok) return wrong(`the SPF record${ofName(path)} is not valid: ${record.reason}`)
  const end = record.terms.findIndex(({ name }) => name === 'all')
  const reached = end < 0 ? record.terms : record.terms.slice(0, end)
  const redirects = reached.filter(({ name }) => name === 'redirect')
  // a redirect is ignored beside "all" (RFC 7208 6.1); otherwise it is evaluated last, wherever it stands
  const terms = [...reached.filter(({ name }) => name !== 'redirect'), ...(end < 0 ? redirects : [])]
  for (const term of terms) {
    const problem = await followTerm(evaluation, term, path, isOpen)
    if (problem !== null) return problem
  }
  return null
}

async function followTerm(
  evaluation: SpfEvaluation,
  term: SpfTerm,
  path: readonly string[],
  isOpen: boolean,
): Promise<SpfProblem> {
  if (!LOOKUP_TERMS.has(term.name)) return null
  evaluation.lookups++
  if (evaluation.lookups > MAX_LOOKUPS)
    return wrong(
      `the SPF record needs more than ${MAX_LOOKUPS} DNS lookups, which makes it invalid (RFC 7208 4.6.4): ` +
        'remove some terms',
    )
  if (performance.now() > evaluation.deadline) return unknown('the SPF record takes too long to evaluate')
  const mayPass = isOpen && term.qualifier === '+'
  const host = term.domain ?? path.at(-1) ?? ''
  if (term.name === 'a' && mayPass && host === evaluation.target.server) evaluation.includesUs = true
  if (term.name === 'include' || term.name === 'redirect') return followInclude(evaluation, host, path, mayPass)
  // macros depend on the message, and nobody evaluates ptr: they count as lookups but are not queried
  if (host.includes('%') || term.name === 'ptr' || term.name === 'exists') return null
  return countVoidLookup(
    evaluation,
    await (term.name === 'mx' ? evaluation.dns.mx(host) : evaluation.dns.addresses(host)),
    path,
  )
}

async function followInclude(
  evaluation: SpfEvaluation,
  host: string,
  path: readonly string[],
  mayPass: boolean,
): Promise<SpfProblem> {
  if (host.includes('%')) return null
  if (path.includes(host)) return wrong(`the SPF record includes itself through ${host}: receivers reject it`)
  const isOurs = host === evaluation.target.include
  if (isOurs && mayPass) evaluation.includesUs = true
  const answer = await evaluation.dns.txt(host)
  if (answer.kind === 'failed') return unknown(`the included record of ${host} could not be read: ${answer.reason}`)
  const [text, ...others] = findSpf(answer.records)
  const owner = isOurs ? ': the operator of this service must publish it' : ''
  if (text === undefined) return wrong(`it includes ${host}, which has no SPF record${owner}`)
  if (others.length > 0) return wrong(`it includes ${host}, which has ${others.length + 1} SPF records${owner}`)
  return followRecord(evaluation, text, [...path, host], mayPass)
}

function countVoidLookup(
  evaluation: SpfEvaluation,
  answer: DnsQueryResult<unknown>,
  path: readonly string[],
): SpfProblem {
  if (answer.kind === 'failed')
    return unknown(`a name in the SPF record${ofName(path)} could not be read: ${answer.reason}`)
  if (answer.records.length === 0) evaluation.voidLookups++
  if (evaluation.voidLookups <= MAX_VOID_LOOKUPS) return null
  return wrong(
    `more than ${MAX_VOID_LOOKUPS} names in the SPF record do not exist, which makes it invalid (RFC 7208 4.6.4)`,
  )
}

function ofName(path: readonly string[]): string {
  return path.length === 1 ? '' : ` of ${path.at(-1)}`
}
