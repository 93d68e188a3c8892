/**
 * The address of an inbound route: a local part with at most one `*`, at a domain. Parses addresses, and chooses the
 * route of a recipient. Case does not matter, as with most mail servers. Pure.
 */

/** `support`, `*`, or `sales-*`. */
export interface RoutedLocalPart {
  /** Lower case. */
  readonly localPart: string
  readonly priority: number
}

const ANY = '*'
/** RFC 5321 4.5.3.1.1 */
const MAX_LOCAL_PART = 64
/** Characters of a dot-atom (RFC 5322 3.2.3), and the asterisk. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+$/

/** Null if it is not the address of a route. Domain and local part in lower case. */
export function parseRouteAddress(address: string): { readonly localPart: string; readonly domain: string } | null {
  const at = address.lastIndexOf('@')
  const [localPart, domain] = [address.slice(0, Math.max(0, at)).toLowerCase(), address.slice(at + 1).toLowerCase()]
  const isValid =
    LOCAL_PART.test(localPart) &&
    localPart.length <= MAX_LOCAL_PART &&
    localPart.split(ANY).length <= 2 &&
    domain !== '' &&
    !/[\s@]/.test(domain)
  return isValid ? { localPart, domain } : null
}

/**
 * The route of a recipient: that of the highest priority, then the most exact one. A route without `*` also matches
 * its subaddresses: `support` matches `support+anything`.
 */
export function chooseRoute<R extends RoutedLocalPart>(routes: readonly R[], localPart: string): R | null {
  const given = localPart.toLowerCase()
  const plus = given.indexOf('+')
  const base = plus > 0 ? given.slice(0, plus) : given
  let best: { readonly route: R; readonly rank: readonly [number, number] } | null = null
  for (const route of routes) {
    const exactness = exactnessOf(route.localPart, given, base)
    if (exactness === null) continue
    const rank = [route.priority, exactness] as const
    if (best === null || rank[0] > best.rank[0] || (rank[0] === best.rank[0] && rank[1] > best.rank[1]))
      best = { route, rank }
  }
  return best?.route ?? null
}

const EXACT = 1000
const EXACT_BASE = 999

/** Null if the pattern does not match. The more characters a pattern names, the more exact it is. */
function exactnessOf(pattern: string, given: string, base: string): number | null {
  if (pattern === given) return EXACT
  if (pattern === base) return EXACT_BASE
  const star = pattern.indexOf(ANY)
  if (star < 0) return null
  const [start, end] = [pattern.slice(0, star), pattern.slice(star + 1)]
  const isMatch = given.length >= start.length + end.length && given.startsWith(start) && given.endsWith(end)
  return isMatch ? start.length + end.length : null
}
