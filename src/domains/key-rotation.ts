/**
 * Rotates the DKIM keys of a domain without a gap: the new pair is published beside the current one and signs only once
 * it was seen in DNS (`key-state.ts`). One rotation at a time: the row of the domain is locked, and the index
 * dkim_keys_one_waiting decides between two that start together. A crash leaves nothing or a complete pair.
 *
 * A delegated domain has two names for each algorithm (`delegated-names.ts`); the new pair gets those whose keys are
 * revoked or were never used, and needs no change in the zone of the domain.
 */
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { freeNames, type FreeNames } from './delegated-names.ts'
import { type DkimKey, generateDkimKeys } from './dkim-key.ts'
import { type Domain, findDomain, storeDkimKey } from './domains.ts'
import { FIRST_WAIT_MS } from './domain-status.ts'

export type KeyRotation =
  | { readonly kind: 'begun'; readonly domain: Domain }
  | { readonly kind: 'under-way'; readonly domain: Domain }
  /** Both names of an algorithm are in use: the previous keys verify mail in transit until this time (epoch ms). */
  | { readonly kind: 'too-soon'; readonly domain: Domain; readonly untilMs: number }
  /** No key signs yet, so there is nothing to rotate. */
  | { readonly kind: 'not-verified'; readonly domain: Domain }
  /** The domain was to be delegated, but this installation has no DKIM_ZONE. */
  | { readonly kind: 'no-zone'; readonly domain: Domain }
  | { readonly kind: 'not-found' }

export interface RotationRequest {
  readonly workspaceId: string
  readonly id: string
  /** The records of the next pair are CNAMEs to DKIM_ZONE. By default its records are of the present kind. */
  readonly delegate?: boolean | undefined
}

const LOCK = 'SELECT 1 FROM domains WHERE id = $1 AND workspace_id = $2 FOR NO KEY UPDATE'
const DELEGATE = 'UPDATE domains SET dkim_zone = $2 WHERE id = $1 AND dkim_zone IS DISTINCT FROM $2'
const CHECK_SOONER = `UPDATE domains SET check_due_at = least(check_due_at, $2) WHERE id = $1`
/** Keys whose selectors the next pair gets. */
const REMOVE_REVOKED = `DELETE FROM dkim_keys WHERE domain_id = $1 AND state = 'revoked' AND selector = ANY ($2)`
/** An Ed25519 key of the previous rotation whose record was never published. */
const REMOVE_WAITING = `DELETE FROM dkim_keys WHERE domain_id = $1 AND state = 'waiting'`

type RotationContext = Pick<Context, 'db' | 'encryption' | 'clock' | 'config'>

/** Generates and stores the pair (about 0.1 s, off the main thread). Mail is not affected yet. */
export async function rotateDkimKeys(ctx: RotationContext, request: RotationRequest): Promise<KeyRotation> {
  const { workspaceId, id } = request
  const domain = await findDomain(ctx.db, workspaceId, id)
  if (domain === null) return { kind: 'not-found' }
  if (domain.status !== 'verified' && domain.status !== 'degraded') return { kind: 'not-verified', domain }
  const zone = zoneFor(ctx, domain, request)
  if (zone === undefined) return { kind: 'no-zone', domain }
  const keys = await generateDkimKeys()
  const begun = await ctx.db.transaction(async (tx): Promise<Begun> => {
    const {
      rows: [locked],
    } = await tx.query(LOCK, [id, workspaceId])
    const current = locked === undefined ? null : await findDomain(tx, workspaceId, id)
    return current === null ? { kind: 'not-found' } : storePair(ctx, tx, { domain: current, zone, keys })
  })
  const now = await findDomain(ctx.db, workspaceId, id)
  return now === null || begun.kind === 'not-found' ? { kind: 'not-found' } : { ...begun, domain: now }
}

type Begun =
  | { readonly kind: 'begun' | 'under-way' | 'not-found' }
  | { readonly kind: 'too-soon'; readonly untilMs: number }

/** Null: TXT records. Undefined: there is no zone to delegate to. */
function zoneFor(
  { config }: Pick<Context, 'config'>,
  { dkimZone }: Domain,
  { delegate = false }: RotationRequest,
): string | null | undefined {
  return delegate ? (dkimZone ?? config.dkimZone ?? undefined) : dkimZone
}

interface NextPair {
  /** As it is now; its row is locked. */
  readonly domain: Domain
  readonly zone: string | null
  readonly keys: readonly DkimKey[]
}

async function storePair(ctx: RotationContext, tx: Queryable, { domain, zone, keys }: NextPair): Promise<Begun> {
  const { id } = domain
  const isUnderWay = domain.keys.some(({ state, algorithm }) => state === 'waiting' && algorithm === 'rsa-sha256')
  if (isUnderWay) return { kind: 'under-way' }
  await tx.query(REMOVE_WAITING, [id])
  const kept = domain.keys.filter(({ state }) => state !== 'waiting')
  const found: FreeNames | null = zone === null ? null : freeNames({ id, dkimZone: zone }, kept)
  if (found?.kind === 'in-use') return { kind: 'too-soon', untilMs: found.untilMs }
  await tx.query(DELEGATE, [id, zone])
  if (found !== null) await tx.query(REMOVE_REVOKED, [id, Object.values(found.names).map(({ selector }) => selector)])
  const pairId = newId()
  for (const key of keys) {
    const name = found?.names[key.algorithm]
    await storeDkimKey(ctx, tx, { domainId: id, pairId, name, key, state: 'waiting' })
  }
  await tx.query(CHECK_SOONER, [id, new Date(ctx.clock.now() + FIRST_WAIT_MS * ctx.config.retryScale)])
  return { kind: 'begun' }
}
