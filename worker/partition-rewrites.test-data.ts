/** Changes rows of all partitioned tables as late reports, erasures and retention do, and knows what must be stored. */
import { assert } from 'chai'
import { newId, timeOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestContext } from '#test/support/context.ts'

export interface Writer {
  /** Some changes of rows that are stored since long: updates, deletions and insertions. */
  change(): Promise<void>
  /** Fails if a change was lost or a row is doubled. */
  compare(): Promise<void>
}

/** `messageIds`: stored by `storedMail`. */
export function createWriter(ctx: TestContext, workspaceId: string, messageIds: readonly string[]): Writer {
  let count = 0
  const reasons = new Map<string, string>()
  const tags = new Map(messageIds.map((id) => [id, 'tag']))
  /** Ids of added events, in pairs with the number of their last change. */
  const events = new Map<string, number>()

  const changeOf: readonly ((id: string) => Promise<void>)[] = [
    async (id) => {
      const reason = `reason ${count}`
      await ctx.db.query('UPDATE recipients SET reason = $2 WHERE message_id = $1', [id, reason])
      reasons.set(id, reason)
    },
    async (id) => {
      const tag = `tag ${count}`
      await ctx.db.query('UPDATE message_tags SET tag = $2 WHERE message_id = $1', [id, tag])
      tags.set(id, tag)
    },
    async (id) => {
      const eventId = newId(timeOf(id))
      await ctx.db.query(
        sql`
          INSERT INTO events (id, workspace_id, type, message_id, n, sequence, data, created_at)
          VALUES ($1, $2, 'email.opened', $3, 0, 2, '{"number": 0}', now())`,
        [eventId, workspaceId, id],
      )
      events.set(eventId, 0)
    },
    async () => {
      const [eventId] = [...events.keys()].slice(-2)
      if (eventId === undefined) return
      const data = JSON.stringify({ number: count })
      await ctx.db.query('UPDATE events SET data = $2 WHERE id = $1', [eventId, data])
      events.set(eventId, count)
    },
    async () => {
      const [eventId] = events.keys()
      if (eventId === undefined || events.size < 3) return
      await ctx.db.query('DELETE FROM events WHERE id = $1', [eventId])
      events.delete(eventId)
    },
    async (id) => {
      await ctx.db.query('DELETE FROM message_bodies WHERE message_id = $1', [id])
      await ctx.db.query('INSERT INTO message_bodies (message_id, html) VALUES ($1, $2)', [id, `body ${id}`])
    },
  ]

  return {
    change: async () => {
      for (const change of changeOf) {
        count++
        await change(messageIds[count % messageIds.length] ?? '')
      }
    },
    compare: async () => {
      const of = async (statement: string): Promise<unknown[]> =>
        (await ctx.db.query(statement, [messageIds])).rows.map((row) => Object.values(row))
      assert.sameDeepMembers(
        await of('SELECT message_id, reason FROM recipients WHERE message_id = ANY ($1)'),
        messageIds.map((id) => [id, reasons.get(id) ?? null]),
      )
      assert.sameDeepMembers(
        await of('SELECT message_id, tag FROM message_tags WHERE message_id = ANY ($1)'),
        messageIds.map((id) => [id, tags.get(id)]),
      )
      assert.sameDeepMembers(
        await of(`SELECT id, (data ->> 'number')::int FROM events WHERE message_id = ANY ($1) AND sequence = 2`),
        [...events],
      )
      assert.strictEqual((await of('SELECT FROM events WHERE message_id = ANY ($1) AND sequence = 1')).length, 4)
      for (const table of ['message_bodies', 'attachments', 'attempts'])
        assert.sameMembers(
          (await of(`SELECT message_id FROM ${table} WHERE message_id = ANY ($1)`)).flat() as string[],
          [...messageIds],
          table,
        )
    },
  }
}
