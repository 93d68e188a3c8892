/**
 * The key of a site: one name for all domains with the same set of hosts, so that one throttle and one pool of
 * connections apply to them. Short, stable, the same in every process, and readable where possible. It has no space,
 * control character or upper case.
 */
import { createHash } from 'node:crypto'

const HASH_DIGITS = 16
/** A longer host name appears as its hash. */
const MAX_READABLE = 100

/** One host: its name. Several: the common suffix of their names, and a hash of the sorted set. */
export function siteOfHosts(names: readonly string[]): string {
  const sorted = [...new Set(names.map((name) => name.toLowerCase()))].toSorted()
  const [only] = sorted
  if (sorted.length === 1 && only !== undefined && only.length <= MAX_READABLE) return only
  const hash = createHash('sha256').update(sorted.join(',')).digest('hex').slice(0, HASH_DIGITS)
  return `${sharedSuffix(sorted)}~${hash}`
}

/** A host of the transport map: separate from MX hosts, because the operator set its port. */
export function siteOfRoute(host: string, port: number): string {
  return `route:${host.toLowerCase()}:${port}`
}

/** A domain without hosts, permanently or for now: its mail waits and fails separately. */
export function siteOfNone(domain: string): string {
  return `none:${domain.toLowerCase()}`
}

/** The labels that all names end with, or "mx" where that is only a top-level domain. */
function sharedSuffix(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split('.').toReversed())
  const differing = first.findIndex((label, i) => others.some((labels) => labels[i] !== label))
  const shared = differing < 0 ? first : first.slice(0, differing)
  const text = shared.toReversed().join('.')
  return shared.length < 2 || text.length > MAX_READABLE ? 'mx' : text
}
