/**
 * The life of a DKIM key: waiting → active → retired → removable → gone. This is the only place that knows the states and what a look
 * at DNS makes of them; `check-result.ts` carries it out. Signing never waits for a rotation: the active key signs until the next one has
 * been seen in DNS and stayed there, or until its own record is gone while the next one is there. Pure.
 */
import type { FindingStatus } from './record-finding.ts'

export const KEY_STATES = {
  waiting: 'not in use yet: publish its record; it signs once the record has been in DNS for 10 minutes',
  active: 'signs',
  retired: 'no longer signs; keep its record for 7 days, so that mail in transit still verifies',
  removable: 'you may remove its record from DNS; the private key is deleted',
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
  /** Waiting: since when it is in DNS; epoch ms. */
  readonly seenMs: number | null
}

/** `saw`: note when it was first seen, or (null) that it is gone again. */
export type KeyMove =
  | { readonly kind: 'to'; readonly id: string; readonly from: KeyState; readonly to: KeyState }
  | { readonly kind: 'saw'; readonly id: string; readonly at: number | null }
  | { readonly kind: 'delete'; readonly id: string; readonly from: KeyState }

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Other name servers of the zone, and resolvers behind them, may still be without it. */
export const SETTLE_MS = 10 * MINUTE_MS
/** Mail waits up to 5 days at others (RFC 5321 4.5.4.1). */
export const KEEP_RETIRED_MS = 7 * DAY_MS
/** How long we tell that a record may be removed. */
const KEEP_REMOVABLE_MS = 30 * DAY_MS

type Seen = (key: DkimKeyRow) => FindingStatus

/** What follows from a look at DNS; `seen` tells what was found for the record of a key. */
export function planKeys(keys: readonly DkimKeyRow[], seen: Seen, nowMs: number): KeyMove[] {
  return keys.flatMap((key): KeyMove[] => {
    const { id, state } = key
    const ageMs = nowMs - key.sinceMs
    if (state === 'waiting') return planWaiting(key, keys, seen, nowMs)
    if (state === 'retired' && ageMs >= KEEP_RETIRED_MS) return [{ kind: 'to', id, from: 'retired', to: 'removable' }]
    return state === 'removable' && ageMs >= KEEP_REMOVABLE_MS ? [{ kind: 'delete', id, from: 'removable' }] : []
  })
}

function planWaiting(key: DkimKeyRow, keys: readonly DkimKeyRow[], seen: Seen, nowMs: number): KeyMove[] {
  const found = seen(key)
  if (found === 'unknown') return []
  if (found !== 'ok') return key.seenMs === null ? [] : [{ kind: 'saw', id: key.id, at: null }]
  const before = keys.filter(({ state, algorithm }) => state === 'active' && algorithm === key.algorithm)
  const isNeeded = before.every((one) => seen(one) === 'missing' || seen(one) === 'wrong')
  if (!isNeeded && (key.seenMs === null || nowMs - key.seenMs < SETTLE_MS))
    return key.seenMs === null ? [{ kind: 'saw', id: key.id, at: nowMs }] : []
  return [
    ...before.map(({ id }): KeyMove => ({ kind: 'to', id, from: 'active', to: 'retired' })),
    { kind: 'to', id: key.id, from: 'waiting', to: 'active' },
  ]
}
