/**
 * From a domain's MX records to the hosts to try, in order. Pure: the rules of RFC 5321 5.1, RFC 7505, and practice.
 *
 *   only the null MX                    the domain accepts no mail: refused permanently (5.1.10)
 *   null MX among others                ignored (RFC 7505 3)
 *   an IP address, localhost, no name   skipped: an MX names a host
 *   our own name                        it and all hosts not preferred to it are dropped; none left: a loop (5.4.6)
 *   the same preference                 in random order (a must of RFC 5321 5.1)
 *   more than 20 hosts                  the best 20
 */
import type { MxRecord } from 'node:dns'
import { isIP } from 'node:net'

export interface MxHost {
  readonly name: string
  readonly preference: number
}

export type MxSelection =
  | {
      readonly kind: 'hosts'
      readonly hosts: readonly MxHost[]
      /** All usable names, for the site. */ readonly names: readonly string[]
    }
  | { readonly kind: 'null-mx' }
  | { readonly kind: 'loop' }
  | { readonly kind: 'unusable'; readonly skipped: readonly string[] }

const MAX_HOSTS = 20
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const LOCALHOST = /(^|\.)(localhost|localdomain)$/

/** `self` is our own host name; `random` returns numbers from 0 to below 1. */
export function selectMxHosts(records: readonly MxRecord[], self: string, random: () => number): MxSelection {
  const named = records
    .map(({ exchange, priority }) => ({ name: exchange.toLowerCase().replace(/\.$/, ''), preference: priority }))
    .filter(({ name }) => name !== '')
  if (named.length === 0) return { kind: 'null-mx' }
  const usable = named.filter(({ name }) => flawOf(name) === null)
  if (usable.length === 0)
    return {
      kind: 'unusable',
      skipped: named.map(({ name }) => `${JSON.stringify(name)} ${flawOf(name)}`).slice(0, MAX_HOSTS),
    }
  const own = usable.filter(({ name }) => name === self.toLowerCase()).map(({ preference }) => preference)
  const preferred = usable.filter(({ preference }) => preference < Math.min(...own))
  if (preferred.length === 0) return { kind: 'loop' }
  const hosts = withoutDuplicates(shuffle(preferred, random).toSorted((a, b) => a.preference - b.preference))
  return { kind: 'hosts', hosts: hosts.slice(0, MAX_HOSTS), names: hosts.map(({ name }) => name) }
}

/** Why a name in an MX record cannot be used, or null. */
function flawOf(name: string): string | null {
  if (isIP(name) !== 0) return 'is an IP address, not a name'
  if (LOCALHOST.test(name)) return 'is the local machine'
  return HOST_NAME.test(name) ? null : 'is not a host name'
}

function withoutDuplicates(hosts: readonly MxHost[]): MxHost[] {
  const seen = new Set<string>()
  return hosts.filter(({ name }) => !seen.has(name) && seen.add(name))
}

/** Fisher and Yates; a sort that follows keeps the order among equals. */
function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const shuffled = [...items]
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [a, b] = [shuffled[i] as T, shuffled[j] as T]
    shuffled[i] = b
    shuffled[j] = a
  }
  return shuffled
}
