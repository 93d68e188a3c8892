/**
 * The life cycle of a DKIM key: waiting, active, retired, then removable (a TXT record that its owner published) or
 * revoked (a record in the operator's zone), deleted. This file alone defines the states and how a DNS check changes
 * them; `check-result.ts` applies the transitions. A rotation never interrupts signing: the active key signs until the
 * next one has been in DNS for a while, or until its own record is gone and the next one is published. Pure.
 */
import type { RecordFindingStatus } from './record-finding.ts'

export const KEY_STATES = {
  waiting: 'not in use yet: publish its record; it signs once the record has been in DNS for 10 minutes',
  active: 'signs',
  retired: 'no longer signs; keep its record for 7 days, so that mail in transit still verifies',
  removable: 'you may remove its record from DNS; the private key is deleted',
  revoked:
    "its record in the operator's zone has an empty key, and is removed after 30 days; the private key is deleted",
} as const
export type KeyState = keyof typeof KEY_STATES

export interface DkimKeyRow {
  readonly id: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  readonly dnsValue: string
  readonly state: KeyState
  /** Epoch ms. */
  readonly sinceMs: number
  /** Of a waiting key: when its record was first seen in DNS; epoch ms. */
  readonly seenMs: number | null
  /** The name in the operator's zone that has its record; null: a TXT record in the zone of the domain. */
  readonly target: string | null
}

/** `saw`: record when the key was first seen, or (null) that it is gone again. */
export type KeyTransition =
  | { readonly kind: 'to'; readonly id: string; readonly from: KeyState; readonly to: KeyState }
  | { readonly kind: 'saw'; readonly id: string; readonly at: number | null }
  | { readonly kind: 'delete'; readonly id: string; readonly from: KeyState }

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Time for the record to reach the zone's other name servers and the resolvers' caches. */
const PROPAGATION_MS = 10 * MINUTE_MS
/** Other servers retry mail for up to 5 days (RFC 5321 4.5.4.1). */
export const RETIRED_MS = 7 * DAY_MS
/** How long a removable key is still listed, and a revoked one still published as such. */
const REMOVABLE_MS = 30 * DAY_MS

/**
 * How long a key must have been in DNS before it signs. A resolver may hold what was at a name of the operator's zone
 * before, or that nothing was, for one TTL; some hold it for longer.
 */
export function propagationMs({ target }: Pick<DkimKeyRow, 'target'>, zoneTtlMs: number): number {
  return target === null ? PROPAGATION_MS : Math.max(PROPAGATION_MS, 2 * zoneTtlMs)
}

type RecordStatusOf = (key: DkimKeyRow) => RecordFindingStatus

export interface KeyTiming {
  readonly nowMs: number
  /** TTL of the records in the operator's zone. */
  readonly zoneTtlMs: number
}

/** The transitions that follow from a DNS check; `recordStatusOf` returns what was found for a key. */
export function planKeyTransitions(
  keys: readonly DkimKeyRow[],
  recordStatusOf: RecordStatusOf,
  { nowMs, zoneTtlMs }: KeyTiming,
): KeyTransition[] {
  return keys.flatMap((key): KeyTransition[] => {
    const { id, state, target } = key
    const ageMs = nowMs - key.sinceMs
    if (state === 'waiting') {
      const waitMs = propagationMs(key, zoneTtlMs)
      return planWaiting(key, keys, recordStatusOf, { nowMs, waitMs })
    }
    if (state === 'retired' && ageMs >= RETIRED_MS)
      return [{ kind: 'to', id, from: 'retired', to: target === null ? 'removable' : 'revoked' }]
    const isOver = (state === 'removable' || state === 'revoked') && ageMs >= REMOVABLE_MS
    return isOver ? [{ kind: 'delete', id, from: state }] : []
  })
}

function planWaiting(
  key: DkimKeyRow,
  keys: readonly DkimKeyRow[],
  recordStatusOf: RecordStatusOf,
  { nowMs, waitMs }: { readonly nowMs: number; readonly waitMs: number },
): KeyTransition[] {
  const found = recordStatusOf(key)
  if (found === 'unknown') return []
  if (found !== 'ok') return key.seenMs === null ? [] : [{ kind: 'saw', id: key.id, at: null }]
  const active = keys.filter(({ state, algorithm }) => state === 'active' && algorithm === key.algorithm)
  const isActiveGone = active.every((one) => recordStatusOf(one) === 'missing' || recordStatusOf(one) === 'wrong')
  if (!isActiveGone && (key.seenMs === null || nowMs - key.seenMs < waitMs))
    return key.seenMs === null ? [{ kind: 'saw', id: key.id, at: nowMs }] : []
  return [
    ...active.map(({ id }): KeyTransition => ({ kind: 'to', id, from: 'active', to: 'retired' })),
    { kind: 'to', id: key.id, from: 'waiting', to: 'active' },
  ]
}
