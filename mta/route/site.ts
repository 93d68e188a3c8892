/**
 * The key of a site: one name for all domains that are served by the same set of hosts, so that one limit and one pool of connections hold for them.
 * Short, stable, the same in every process, and readable where that costs nothing. It holds no blank, no control character and no upper case.
 */
import { createHash } from 'node:crypto'

const HASH_DIGITS = 16
/** A host name that is longer is named by its hash. */
const MAX_READABLE = 100

/** One host: its name. Several: what their names share at the end, and a hash of the sorted set. */
export function siteOfHosts(names: readonly string[]): string {
  const sorted = [...new Set(names.map((name) => name.toLowerCase()))].toSorted()
  const [only] = sorted
  if (sorted.length === 1 && only !== undefined && only.length <= MAX_READABLE) return only
  const hash = createHash('sha256').update(sorted.join(',')).digest('hex').slice(0, HASH_DIGITS)
  return `${sharedSuffix(sorted)}~${hash}`
}

/** A target of the transport map: told apart from MX hosts, for the operator set its port. */
export function siteOfRoute(host: string, port: number): string {
  return `route:${host.toLowerCase()}:${port}`
}

/** A domain that no host can be named for, for good or for now: its mail waits and fails on its own. */
export function siteOfNone(domain: string): string {
  return `none:${domain.toLowerCase()}`
}

/** The labels that all names end with, or "mx" where that is no more than a top-level domain. */
function sharedSuffix(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split('.').toReversed())
  const differing = first.findIndex((label, i) => others.some((labels) => labels[i] !== label))
  const shared = differing < 0 ? first : first.slice(0, differing)
  const text = shared.toReversed().join('.')
  return shared.length < 2 || text.length > MAX_READABLE ? 'mx' : text
}
