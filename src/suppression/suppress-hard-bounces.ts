/**
 * From hard bounces to the suppression list, by the rules of `bounce-rules.ts`: at once, after a second proof, or, while the receiver seems
 * to be broken (outage.ts), not yet. In the transaction of the move that settles the bounce, so that both are there or neither is.
 *
 * What waits stands in held_suppressions with its whole cause; mail to such an address is still sent, and a second refusal a day later
 * is proof whatever the receiver's state. pending-suppressions.ts ends the waiting. Two batches at once touch their rows in the same order.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BOUNCE_RULES, PROOF_GAP_MS, ruleFor, ruleName, type BounceClass } from './bounce-rules.ts'
import type { CauseReply, Suppressing } from './cause.ts'
import { countResults, findJumps, type Hours } from './outage.ts'
import { suppress } from './suppress.ts'

/** A hard bounce. */
export interface Refused {
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

type Judged = Refused & { readonly rule: BounceClass }

export interface Results {
  readonly refused: readonly Refused[]
  /** Counted with them: by receiver. */
  readonly deliveries: ReadonlyMap<string, Hours>
}

/** Inside a transaction. */
export async function condemn(tx: Queryable, { refused, deliveries }: Results, now: Date): Promise<void> {
  const judged = distinct(
    refused.flatMap((one): Judged[] => {
      const rule = ruleFor(one.class, one.reply.status)
      return rule === null ? [] : [{ ...one, rule }]
    }),
  )
  await countResults(tx, addHard(deliveries, judged), now)
  const jumped = await findJumps(
    tx,
    judged.map(({ receiver }) => receiver),
    now,
  )
  const isAtOnce = (one: Judged): boolean => BOUNCE_RULES[one.rule].proofs === 1 && !jumped.has(one.receiver)
  const proved = await hold(
    tx,
    judged.filter((one) => !isAtOnce(one)),
    jumped,
    now,
  )
  const condemned = judged.filter((one) => isAtOnce(one) || proved.has(keyOf(one)))
  if (condemned.length > 0) await tx.query(FREE, columnsOf(condemned, [(c) => c.workspaceId, (c) => c.address]))
  await suppress(tx, condemned.map(entryOf), now)
}

function keyOf({ workspaceId, address }: { readonly workspaceId: string; readonly address: string }): string {
  return `${workspaceId} ${address.toLowerCase()}`
}

/** One for each address, in the order of their keys. */
function distinct(judged: readonly Judged[]): Judged[] {
  return [...new Map(judged.map((one) => [keyOf(one), one])).values()]
}

function addHard(deliveries: ReadonlyMap<string, Hours>, judged: readonly Judged[]): ReadonlyMap<string, Hours> {
  const counts = new Map(deliveries)
  for (const { receiver } of judged) {
    const { hard, delivered } = counts.get(receiver) ?? { hard: 0, delivered: 0 }
    counts.set(receiver, { hard: hard + 1, delivered })
  }
  return counts
}

function entryOf(one: Judged): Suppressing {
  return {
    workspaceId: one.workspaceId,
    address: one.address,
    kind: 'hard_bounce',
    reason: `hard bounce: ${one.reply.text}`.slice(0, MAX_REASON),
    reply: one.reply,
    rule: ruleName(one.rule),
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
    ORDER BY workspace_id, lower(address) COLLATE "C"
    ON CONFLICT (workspace_id, address)
    DO UPDATE SET hold = CASE WHEN h.hold = 'outage' THEN h.hold ELSE excluded.hold END
    RETURNING workspace_id AS "workspaceId", address, held_at AS "heldAt"
  `,
)

const FREE = prepared(
  'suppressions-unhold',
  sql`
    DELETE FROM held_suppressions h
    USING unnest($1::uuid[], $2::text[]) AS i (workspace_id, address)
    WHERE h.workspace_id = i.workspace_id AND h.address = lower(i.address)
  `,
)

/** Writes down what waits; answers those that this was the second proof of, which wait no more. */
async function hold(
  tx: Queryable,
  judged: readonly Judged[],
  jumped: ReadonlySet<string>,
  now: Date,
): Promise<ReadonlySet<string>> {
  if (judged.length === 0) return new Set()
  const rows = judged.map((one) => ({
    ...one,
    hold: jumped.has(one.receiver) ? 'outage' : 'proof',
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
  const proved = held.filter(({ heldAt }) => now.getTime() - heldAt.getTime() >= PROOF_GAP_MS)
  return new Set(proved.map(keyOf))
}
