/**
 * Rotates the DKIM keys of a domain without a gap: the new pair is published beside the current one and signs only once
 * it was seen in DNS (`key-state.ts`). One rotation at a time: the index dkim_keys_one_waiting decides between two that
 * start together.
 */
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { generateDkimKeys } from './dkim-key.ts'
import { type Domain, findDomain, storeDkimKey } from './domains.ts'
import { FIRST_WAIT_MS } from './domain-status.ts'

export type KeyRotation =
  | { readonly kind: 'begun'; readonly domain: Domain }
  | { readonly kind: 'under-way'; readonly domain: Domain }
  /** No key signs yet, so there is nothing to rotate. */
  | { readonly kind: 'not-verified'; readonly domain: Domain }
  | { readonly kind: 'not-found' }

const LOCK = 'SELECT 1 FROM domains WHERE id = $1 AND workspace_id = $2 FOR NO KEY UPDATE'
const WAITING = `SELECT algorithm FROM dkim_keys WHERE domain_id = $1 AND state = 'waiting'`
const CHECK_SOONER = `UPDATE domains SET check_due_at = least(check_due_at, $2) WHERE id = $1`

type RotationContext = Pick<Context, 'db' | 'encryption' | 'clock' | 'config'>

/** Generates and stores the pair (about 0.1 s, off the main thread). Mail is not affected yet. */
export async function rotateDkimKeys(ctx: RotationContext, workspaceId: string, id: string): Promise<KeyRotation> {
  const domain = await findDomain(ctx.db, workspaceId, id)
  if (domain === null) return { kind: 'not-found' }
  if (domain.status !== 'verified' && domain.status !== 'degraded') return { kind: 'not-verified', domain }
  const keys = await generateDkimKeys()
  const pairId = newId()
  const kind = await ctx.db.transaction(async (tx) => {
    const {
      rows: [locked],
    } = await tx.query(LOCK, [id, workspaceId])
    if (locked === undefined) return 'not-found'
    const { rows } = await tx.query<{ algorithm: string }>(WAITING, [id])
    if (rows.some(({ algorithm }) => algorithm === 'rsa-sha256')) return 'under-way'
    // an Ed25519 key of the previous rotation whose record was never published
    await tx.query(`DELETE FROM dkim_keys WHERE domain_id = $1 AND state = 'waiting'`, [id])
    for (const key of keys) await storeDkimKey(ctx, tx, { domainId: id, pairId, key, state: 'waiting' })
    await tx.query(CHECK_SOONER, [id, new Date(ctx.clock.now() + FIRST_WAIT_MS * ctx.config.retryScale)])
    return 'begun'
  })
  const now = await findDomain(ctx.db, workspaceId, id)
  return now === null || kind === 'not-found' ? { kind: 'not-found' } : { kind, domain: now }
}
