/**
 * Puts addresses on the suppression list of a workspace, and takes them off. One statement for a whole batch; whoever writes a cause
 * together with something else (a bounce with its move) calls `suppress` in that transaction.
 *
 * Twins in a batch are one entry, the strongest of them. Two batches at once touch their rows in the same order and cannot deadlock; done
 * twice is done once. Mail that was accepted before is looked at again when it is claimed for sending (src/messages/claim.ts).
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CAUSE_KINDS, CAUSES, type NewSuppression } from './cause.ts'

export interface SuppressResult {
  /** Were not on the list. */
  readonly added: number
  /** Were on it for a weaker cause. */
  readonly strengthened: number
  /** Were on it for a cause as strong, and keep it. */
  readonly unchanged: number
}

const rank = (kind: string): string => `array_position('{${CAUSE_KINDS.join(',')}}', ${kind})`

// xmax is 0 in a row that this statement inserted
const SUPPRESS = prepared(
  'suppressions-add',
  sql`
    WITH input AS (
      SELECT DISTINCT ON (workspace_id, lower(address)) i.*
      FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::uuid[],
        $10::uuid[], $11::uuid[]
      ) AS i (
        workspace_id, address, kind, cause, reply_code, reply_status, reply_text, rule, event_id, message_id, api_key_id
      )
      ORDER BY workspace_id, lower(address), ${rank('i.kind')}
    ),
    written AS (
      INSERT INTO suppressions AS s (
        workspace_id, address, kind, cause, reply_code, reply_status, reply_text, rule, event_id, message_id,
        api_key_id, created_at, updated_at
      )
      SELECT workspace_id, lower(address), kind, cause, reply_code, reply_status, reply_text, rule, event_id,
        message_id, api_key_id, $12, $12
      FROM input
      ORDER BY workspace_id, lower(address) COLLATE "C"
      ON CONFLICT (workspace_id, address)
      DO UPDATE SET kind = excluded.kind,
        cause = excluded.cause,
        reply_code = excluded.reply_code,
        reply_status = excluded.reply_status,
        reply_text = excluded.reply_text,
        rule = excluded.rule,
        event_id = excluded.event_id,
        message_id = excluded.message_id,
        api_key_id = excluded.api_key_id,
        updated_at = excluded.updated_at
      WHERE ${rank('excluded.kind')} < ${rank('s.kind')}
      RETURNING xmax = 0 AS is_new
    )
    SELECT (SELECT count(*) FROM input) AS entries, count(*) FILTER (WHERE is_new) AS added,
      count(*) FILTER (WHERE NOT is_new) AS strengthened
    FROM written
  `,
)

/** Inside a transaction of the caller's, or alone. `entries` may be of several workspaces. */
export async function suppress(tx: Queryable, entries: readonly NewSuppression[], now: Date): Promise<SuppressResult> {
  if (entries.length === 0) return { added: 0, strengthened: 0, unchanged: 0 }
  const columns = columnsOf(entries, [
    (e) => e.workspaceId,
    (e) => e.address,
    (e) => e.kind,
    (e) => e.reason ?? CAUSES[e.kind].sentence,
    (e) => e.reply?.code ?? null,
    (e) => e.reply?.status ?? null,
    (e) => e.reply?.text ?? null,
    (e) => e.rule ?? null,
    (e) => e.eventId ?? null,
    (e) => e.messageId ?? null,
    (e) => e.apiKeyId ?? null,
  ])
  const {
    rows: [row],
  } = await tx.query<{ entries: number; added: number; strengthened: number }>(SUPPRESS, [...columns, now])
  const { entries: all, added, strengthened } = row ?? { entries: 0, added: 0, strengthened: 0 }
  return { added, strengthened, unchanged: all - added - strengthened }
}

const REMOVE = prepared(
  'suppressions-remove',
  sql`
    DELETE FROM suppressions
    WHERE workspace_id = $1 AND address = ANY (ARRAY(SELECT lower(a) FROM unnest($2::text[]) AS a))
    RETURNING address
  `,
)

/** Mail goes to them again. Answers those that were on the list. */
export async function unsuppress(db: Queryable, workspaceId: string, addresses: readonly string[]): Promise<string[]> {
  return (await db.query<{ address: string }>(REMOVE, [workspaceId, addresses])).rows.map(({ address }) => address)
}
