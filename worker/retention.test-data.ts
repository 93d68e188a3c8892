/** Mail of any age with everything that belongs to it, and the rounds of retention. */
import { newId } from '#src/platform/id.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestContext } from '#test/support/context.ts'
import { createPartitionDropRound, createRetentionRound } from './retention.ts'

export const DAY_MS = 24 * 3600 * 1000
export const ALL = ['message', 'text', 'recipient', 'attachment', 'tag', 'attempt', 'event']
export const FACTS = ['message', 'recipient', 'tag']

export interface StoredMail {
  /** Stores a message of that age with everything that belongs to it. */
  store(days: number, state?: string, owner?: string): Promise<string>
  run(): Promise<void>
  /** Which parts of a message are stored. */
  partsOf(id: string): Promise<string[]>
}

export function storedMail(ctx: TestContext, workspaceId: string): StoredMail {
  const store = async (days: number, state = 'delivered', owner = workspaceId): Promise<string> => {
    const ms = Date.now() - days * DAY_MS
    await ensurePartitions((statement) => ctx.db.query(statement), ms)
    const id = newId(ms)
    const at = new Date(ms)
    await ctx.db.query(
      sql`
        INSERT INTO messages (id, workspace_id, tier, from_email, to_list, subject, has_body_row, content_size,
          recipient_count, created_at)
        VALUES ($1, $2, 'normal', 'a@sender.example', '[]', 'Hi', true, 9, 1, $3)`,
      [id, owner, at],
    )
    await ctx.db.query(`INSERT INTO message_bodies (message_id, html) VALUES ($1, '<p>Hi</p>')`, [id])
    await ctx.db.query(
      sql`
        INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at,
          is_only, updated_at)
        VALUES ($1, 0, $2, 'normal', 'to', 'b@receiver.example', 'receiver.example', $3, $3 = 'scheduled', $4, true,
          $4)`,
      [id, owner, state, at],
    )
    await ctx.db.query(
      `INSERT INTO attachments (message_id, n, filename, content_type, content) VALUES ($1, 0, 'a', 'text/plain', '')`,
      [id],
    )
    await ctx.db.query(`INSERT INTO message_tags (workspace_id, tag, message_id) VALUES ($1, 'tag', $2)`, [owner, id])
    await ctx.db.query(
      sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, duration_ms, conversation)
        VALUES ($1, 0, 1, $2, 'delivered', 1, '')`,
      [id, at],
    )
    await ctx.db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
        VALUES ($1, $2, 'email.delivered', $3, 0, 1, 'b@receiver.example', $4)`,
      [newId(ms), owner, id, at],
    )
    return id
  }

  const run = async (): Promise<void> => {
    await createPartitionDropRound(ctx)()
    const round = createRetentionRound(ctx)
    while (await round());
  }

  const partsOf = async (id: string): Promise<string[]> => {
    const { rows } = await ctx.db.query<{ part: string }>(
      sql`
        SELECT 'message' AS part
        FROM messages
        WHERE id = $1
        UNION ALL
        SELECT 'text'
        FROM message_bodies
        WHERE message_id = $1
        UNION ALL
        SELECT 'recipient'
        FROM recipients
        WHERE message_id = $1
        UNION ALL
        SELECT 'attachment'
        FROM attachments
        WHERE message_id = $1
        UNION ALL
        SELECT 'tag'
        FROM message_tags
        WHERE message_id = $1
        UNION ALL
        SELECT 'attempt'
        FROM attempts
        WHERE message_id = $1
        UNION ALL
        SELECT 'event'
        FROM events
        WHERE message_id = $1`,
      [id],
    )
    return rows.map(({ part }) => part)
  }

  return { store, run, partsOf }
}
