/**
 * Mail that was accepted and that a restored database does not have. What waited is still named by the schedule in
 * Redis, if that was kept: this reads it before the schedule is built again. What was sent is in the logs of the
 * outbound processes (`mailstead lost-mail`). Recording twice changes nothing. Redis away, or a process that dies here:
 * the logs are what remains.
 */
import type { Context } from '#src/context.ts'
import { timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { sql } from '#src/stores/sql.ts'
import { parseMember } from './keys.ts'

export interface LostRecipient {
  readonly messageId: string
  /** The address; `@domain` if only the domain is known. */
  readonly recipient: string
  readonly sender: string | null
  /** The last transition that is known; null if it waited. */
  readonly outcome: string | null
  readonly source: 'redis' | 'log' | 'journal'
  readonly at: Date
}

/** Clocks of processes may differ by some seconds from that of the backup. */
const MARGIN_MS = 60_000
const SLICE = 1000
const KEYS = ['mailstead:{due}:*', 'mailstead:{ready:*}:*']

const RECORD = sql`
  INSERT INTO lost_mail (message_id, recipient, sender, outcome, source, at)
  SELECT DISTINCT ON (i.message_id, i.recipient) i.message_id, i.recipient, i.sender, i.outcome, i.source, i.at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS i (
    message_id, recipient, sender, outcome, source, at
  )
  WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = i.message_id)
  ORDER BY i.message_id, i.recipient, i.at DESC
  ON CONFLICT (message_id, recipient) DO UPDATE SET
    sender = coalesce(excluded.sender, lost_mail.sender),
    outcome = coalesce(excluded.outcome, lost_mail.outcome),
    source = excluded.source,
    at = excluded.at
  WHERE excluded.at >= lost_mail.at
`

/** Records those whose message is not in the database. */
export async function recordLost(db: Queryable, lost: readonly LostRecipient[]): Promise<void> {
  for (let at = 0; at < lost.length; at += SLICE)
    await db.query(RECORD, [
      ...columnsOf(lost.slice(at, at + SLICE), [
        (one) => one.messageId,
        (one) => one.recipient,
        (one) => one.sender,
        (one) => one.outcome,
        (one) => one.source,
        (one) => one.at,
      ]),
    ])
}

/** What is recorded, the oldest first. */
export async function listLost(db: Queryable): Promise<LostRecipient[]> {
  const { rows } = await db.query<LostRecipient>(sql`
    SELECT message_id AS "messageId", recipient, sender, outcome, source, at
    FROM lost_mail
    ORDER BY at, message_id, recipient
  `)
  return rows
}

/** Whether a message of this id may have been accepted after the backup was made. */
export function isAfter(messageId: string, from: Date | null): boolean {
  return from === null || timeOf(messageId) >= from.getTime() - MARGIN_MS
}

/** Records the mail in the schedule of Redis that the database does not have. */
export async function recordWaitingLost(
  { db, redis }: Pick<Context, 'db' | 'redis'>,
  from: Date | null,
): Promise<void> {
  for (const pattern of KEYS)
    for await (const names of redis.scanStream({ match: pattern, type: 'zset', count: SLICE }) as AsyncIterable<
      string[]
    >)
      for (const name of names) await recordWaitingIn({ db, redis }, name, from)
}

async function recordWaitingIn(
  { db, redis }: Pick<Context, 'db' | 'redis'>,
  name: string,
  from: Date | null,
): Promise<void> {
  for await (const found of redis.zscanStream(name, { count: SLICE }) as AsyncIterable<string[]>) {
    const members = found.filter((_, i) => i % 2 === 0).map((text) => parseMember(text))
    await recordLost(
      db,
      members.flatMap((member) =>
        member === null || !isAfter(member.messageId, from)
          ? []
          : [
              {
                messageId: member.messageId,
                recipient: `@${member.domain}`,
                sender: null,
                outcome: null,
                source: 'redis',
                at: new Date(timeOf(member.messageId)),
              } as const,
            ],
      ),
    )
  }
}
