/**
 * The DKIM names of a domain that is delegated to a zone of the operator: two selectors for each algorithm, each a
 * CNAME to a name in that zone. While the key of one selector signs, the next key is published at the other, so keys
 * are replaced without a change in the zone of the domain. Pure: the names follow from the id of the domain, so they
 * are its own, also when several workspaces claim its name, and no later domain gets them.
 */
import { hexOf } from '#src/platform/id.ts'
import { RETIRED_MS, type DkimKeyRow } from './key-state.ts'

export interface DelegatedName {
  readonly selector: string
  readonly algorithm: DkimAlgorithm
  /** The name in the operator's zone to which the selector points. */
  readonly target: string
}

type DkimAlgorithm = DkimKeyRow['algorithm']

interface DelegatedDomain {
  readonly id: string
  /** The zone when the domain was delegated: its CNAMEs point there, whatever DKIM_ZONE is now. */
  readonly dkimZone: string
}

/** The same part as in a selector of a TXT record. */
const SELECTOR_DIGITS = 8
/** All of the random half of the id. */
const TARGET_DIGITS = 16
const SLOTS = ['a', 'b'] as const
const SUFFIXES = { 'rsa-sha256': '', 'ed25519-sha256': '-ed' } as const

/** All four, those of RSA first. */
export function delegatedNames({ id, dkimZone }: DelegatedDomain): DelegatedName[] {
  const hex = hexOf(id)
  return (Object.keys(SUFFIXES) as DkimAlgorithm[]).flatMap((algorithm) =>
    SLOTS.map((slot) => ({
      selector: `ms-${hex.slice(-SELECTOR_DIGITS)}-${slot}${SUFFIXES[algorithm]}`,
      algorithm,
      target: `${slot}${SUFFIXES[algorithm]}.${hex.slice(-TARGET_DIGITS)}.${dkimZone}`,
    })),
  )
}

export type FreeNames =
  | { readonly kind: 'free'; readonly names: Readonly<Record<DkimAlgorithm, DelegatedName>> }
  /** The previous keys still verify mail in transit; epoch ms. */
  | { readonly kind: 'in-use'; readonly untilMs: number }

/** The names for the next pair: those that neither sign nor verify mail in transit. */
export function freeNames(domain: DelegatedDomain, keys: readonly DkimKeyRow[]): FreeNames {
  const used = new Map(keys.filter(({ state }) => state !== 'revoked').map((key) => [key.selector, key]))
  const free = delegatedNames(domain).filter(({ selector }) => !used.has(selector))
  const [rsa, ed25519] = (['rsa-sha256', 'ed25519-sha256'] as const).map((algorithm) =>
    free.find((name) => name.algorithm === algorithm),
  )
  if (rsa !== undefined && ed25519 !== undefined)
    return { kind: 'free', names: { 'rsa-sha256': rsa, 'ed25519-sha256': ed25519 } }
  const retired = keys.filter(({ state, target }) => state === 'retired' && target !== null)
  return { kind: 'in-use', untilMs: Math.max(0, ...retired.map(({ sinceMs }) => sinceMs + RETIRED_MS)) }
}
