/** What the rotation of the DKIM keys of a domain waits for. */
import type { DkimKey, Domain } from '#dashboard/src/api/endpoints.ts'

/** A waiting key signs once its record has been in DNS for this long; the server may wait longer for delegated keys. */
const PROPAGATION_MS = 10 * 60_000
/** A retired key stays in DNS for this long, for mail in transit. */
const RETIRED_MS = 7 * 24 * 3600_000

/** Why the server would refuse a rotation now; null if it would not. */
export type RotationObstacle = 'not-verified' | 'in-progress' | 'recent'

export function rotationObstacle({
  status,
  dkim_keys: keys,
}: Pick<Domain, 'dkim_keys' | 'status'>): RotationObstacle | null {
  if (status !== 'verified' && status !== 'degraded') return 'not-verified'
  if (keys.some(({ state }) => state === 'waiting') && keys.some(({ state }) => state === 'active'))
    return 'in-progress'
  return keys.some(({ state }) => state === 'retired') ? 'recent' : null
}

/** When the next step of a key is due, in ISO 8601; null if it waits for its record, or for nothing. */
export function nextStepAt({ state, since, record_seen_at: seenAt }: DkimKey): string | null {
  if (state === 'waiting') return seenAt === null ? null : later(seenAt, PROPAGATION_MS)
  return state === 'retired' ? later(since, RETIRED_MS) : null
}

function later(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString()
}
