/**
 * Adds hard bounces to the suppression list by the rules of bounce-rules.ts: at once, after a second bounce, or, while
 * the receiver seems to have an outage (outage.ts), not yet. It runs in the transaction that records the bounce, so
 * both are stored or neither. Pending suppressions are in held_suppressions with their complete cause. Mail to such an
 * address is still sent; a second bounce a day later suppresses it whatever the receiver's state.
 * pending-suppressions.ts resolves the others. Concurrent batches lock rows in the same order.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BOUNCE_RULES, PROOF_GAP_MS, bounceRuleFor, bounceRuleName, type BounceClass } from './bounce-rules.ts'
import type { CauseReply, NewSuppression } from './cause.ts'
import { countResults, findOutages, type BounceCounts } from './outage.ts'
import { suppress } from './suppress.ts'

/** A hard bounce. */
export interface HardBounce {
  readonly workspaceId: string
  readonly address: string
  /** receiver.ts */
  readonly receiver: string
  /** Class of the failure. */
  readonly class: string
  readonly reply: CauseReply
  readonly eventId: string
  readonly messageId: string
}

type MatchedBounce = HardBounce & { readonly rule: BounceClass }

export interface DeliveryResults {
  readonly hardBounces: readonly HardBounce[]
  /** Deliveries by receiver, counted in the same statement. */
  readonly deliveries: ReadonlyMap<string, BounceCounts>
}

/** Inside a transaction. */
export async function suppressHardBounces(
  tx: Queryable,
  { hardBounces, deliveries }: DeliveryResults,
  now: Date,
): Promise<void> {
  const matched = distinct(
    hardBounces.flatMap((one): MatchedBounce[] => {
      const rule = bounceRuleFor(one.class, one.reply.status)
      return rule === null ? [] : [{ ...one, rule }]
    }),
  )
  await countResults(tx, addHard(deliveries, matched), now)
  const inOutage = await findOutages(
    tx,
    matched.map(({ receiver }) => receiver),
    now,
  )
  const isImmediate = (one: MatchedBounce): boolean =>
    BOUNCE_RULES[one.rule].proofs === 1 && !inOutage.has(one.receiver)
  const secondProofs = await holdBounces(
    tx,
    matched.filter((one) => !isImmediate(one)),
    inOutage,
    now,
  )
  const proven = matched.filter((one) => isImmediate(one) || secondProofs.has(keyOf(one)))
  if (proven.length > 0) await tx.query(END_HOLD, columnsOf(proven, [(c) => c.workspaceId, (c) => c.address]))
  await suppress(tx, proven.map(entryOf), now)
}

function keyOf({ workspaceId, address }: { readonly workspaceId: string; readonly address: string }): string {
  return `${workspaceId} ${address.toLowerCase()}`
}

/** One bounce for each address. */
function distinct(bounces: readonly MatchedBounce[]): MatchedBounce[] {
  return [...new Map(bounces.map((one) => [keyOf(one), one])).values()]
}

function addHard(
  deliveries: ReadonlyMap<string, BounceCounts>,
  bounces: readonly MatchedBounce[],
): ReadonlyMap<string, BounceCounts> {
  const counts = new Map(deliveries)
  for (const { receiver } of bounces) {
    const { hard, delivered } = counts.get(receiver) ?? { hard: 0, delivered: 0 }
    counts.set(receiver, { hard: hard + 1, delivered })
  }
  return counts
}

function entryOf(one: MatchedBounce): NewSuppression {
  return {
    workspaceId: one.workspaceId,
    address: one.address,
    kind: 'hard_bounce',
    reason: `hard bounce: ${one.reply.text}`.slice(0, MAX_REASON),
    reply: one.reply,
    rule: bounceRuleName(one.rule),
    eventId: one.eventId,
    messageId: one.messageId,
  }
}

const MAX_REASON = 500

const HOLD = prepared(
  'suppressions-hold',
  sql`
    INSERT INTO held_suppressions AS h (
      workspace_id, address, hold, receiver, cause, reply_code, reply_status, reply_text, rule, event_id, message_id,
      held_at
    )
    SELECT workspace_id, lower(address), hold, receiver, cause, reply_code, reply_status, reply_text, rule, event_id,
      message_id, $12
    FROM unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[], $9::text[],
      $10::uuid[], $11::uuid[]
    ) AS i (
      workspace_id, address, hold, receiver, cause, reply_code, reply_status, reply_text, rule, event_id, message_id
    )
    WHERE EXISTS (SELECT FROM workspaces w WHERE w.id = i.workspace_id)
    ORDER BY workspace_id, lower(address) COLLATE "C"
    ON CONFLICT (workspace_id, address)
    DO UPDATE SET hold = CASE WHEN h.hold = 'outage' THEN h.hold ELSE excluded.hold END
    RETURNING workspace_id AS "workspaceId", address, held_at AS "heldAt"
  `,
)

const END_HOLD = prepared(
  'suppressions-unhold',
  sql`
    DELETE FROM held_suppressions h
    USING unnest($1::uuid[], $2::text[]) AS i (workspace_id, address)
    WHERE h.workspace_id = i.workspace_id AND h.address = lower(i.address)
  `,
)

/** Stores pending suppressions. Returns the addresses whose second bounce this is. */
async function holdBounces(
  tx: Queryable,
  bounces: readonly MatchedBounce[],
  inOutage: ReadonlySet<string>,
  now: Date,
): Promise<ReadonlySet<string>> {
  if (bounces.length === 0) return new Set()
  const rows = bounces.map((one) => ({
    ...one,
    hold: inOutage.has(one.receiver) ? 'outage' : 'proof',
    entry: entryOf(one),
  }))
  const columns = columnsOf(rows, [
    (r) => r.workspaceId,
    (r) => r.address,
    (r) => r.hold,
    (r) => r.receiver,
    (r) => r.entry.reason,
    (r) => r.reply.code,
    (r) => r.reply.status,
    (r) => r.reply.text,
    (r) => r.entry.rule,
    (r) => r.eventId,
    (r) => r.messageId,
  ])
  const { rows: held } = await tx.query<{ workspaceId: string; address: string; heldAt: Date }>(HOLD, [...columns, now])
  const provenRows = held.filter(({ heldAt }) => now.getTime() - heldAt.getTime() >= PROOF_GAP_MS)
  return new Set(provenRows.map(keyOf))
}
