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
import { recordText } from './record-texts.ts'
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
  if (answer.kind === 'failed') return unknown(answer.text)
  const [text, ...others] = findSpf(answer.records)
  if (text === undefined)
    return answer.records.some((one) => QUOTED_SPF.test(one))
      ? wrong(recordText('quoted'))
      : missing(recordText('spf_missing'))
  if (others.length > 0) return wrong(recordText('spf_several', { count: others.length + 1 }))
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
    ? ok(recordText('spf_authorises', { count: evaluation.lookups, max: MAX_LOOKUPS }))
    : wrong(recordText('spf_without_us', { include: target.include }))
}

const QUOTED_SPF = /^\s*["'“]+\s*v=spf1/i

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
  if (!record.ok) {
    const [name, { term }] = [includedName(path), record]
    return wrong(
      name === null ? recordText('spf_invalid', { term }) : recordText('spf_included_invalid', { name, term }),
    )
  }
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
  if (evaluation.lookups > MAX_LOOKUPS) return wrong(recordText('spf_lookups', { max: MAX_LOOKUPS }))
  if (performance.now() > evaluation.deadline) return unknown(recordText('spf_slow'))
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
  if (path.includes(host)) return wrong(recordText('spf_loop', { name: host }))
  const isOurs = host === evaluation.target.include
  if (isOurs && mayPass) evaluation.includesUs = true
  const answer = await evaluation.dns.txt(host)
  if (answer.kind === 'failed') return unknown(recordText('spf_include_unread', { name: host, reason: answer.reason }))
  const [text, ...others] = findSpf(answer.records)
  if (text === undefined)
    return wrong(recordText(isOurs ? 'spf_include_of_operator' : 'spf_include_without_record', { name: host }))
  if (others.length > 0) {
    const code = isOurs ? 'spf_include_of_operator_several' : 'spf_include_several'
    return wrong(recordText(code, { name: host, count: others.length + 1 }))
  }
  return followRecord(evaluation, text, [...path, host], mayPass)
}

function countVoidLookup(
  evaluation: SpfEvaluation,
  answer: DnsQueryResult<unknown>,
  path: readonly string[],
): SpfProblem {
  if (answer.kind === 'failed') {
    const [name, { reason }] = [includedName(path), answer]
    return unknown(
      name === null
        ? recordText('spf_name_unread', { reason })
        : recordText('spf_included_name_unread', { name, reason }),
    )
  }
  if (answer.records.length === 0) evaluation.voidLookups++
  if (evaluation.voidLookups <= MAX_VOID_LOOKUPS) return null
  return wrong(recordText('spf_void_lookups', { max: MAX_VOID_LOOKUPS }))
}

/** Whose record it is; null: the one that is evaluated. */
function includedName(path: readonly string[]): string | null {
  return path.length === 1 ? null : (path.at(-1) ?? null)
}
