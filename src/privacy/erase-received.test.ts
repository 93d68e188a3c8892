import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { eraseReceived } from './erase-received.ts'
import { readPerson } from './person-export.ts'

describe('erasure of received mail', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('finds it by both senders, in all spellings, with its webhooks, and leaves the mail of others', async () => {
    const [workspaceId, endpoint] = [await ctx.newWorkspace(), newId()]
    await ctx.db.query(
      sql`
        INSERT INTO webhook_endpoints (id, workspace_id, url, event_types, secret)
        VALUES ($1, $2, 'https://hooks.example', '{*}', '')
      `,
      [endpoint, workspaceId],
    )
    const SENDERS = [
      ['ann@people.example', 'bounces@list.example'],
      ['', 'Ann+x@People.example'],
      ['bob@people.example', 'bob@people.example'],
    ] as const
    for (const [from, mailFrom] of SENDERS) {
      const id = newId()
      await ctx.db.query(
        sql`
          INSERT INTO received_emails (
            id, workspace_id, route_id, action, recipient, mail_from, from_address, peer, helo, is_tls, size, raw, state
          )
          VALUES ($1, $2, $1, 'webhook', 'in@our.example', $3, $4, '192.0.2.1', '', false, 1, 'x', 'processed')
        `,
        [id, workspaceId, mailFrom, from],
      )
      const data = { received_email_id: id }
      const event = { workspaceId, type: 'email.received', recipient: 'in@our.example', data } as const
      await raiseEvents(ctx.db, [event], new Date())
    }
    const person = { workspaceId, email: 'ann@people.example' }
    const exported: string[] = []
    for await (const { kind } of readPerson(ctx.db, person)) exported.push(kind)
    assert.isAtLeast(exported.filter((kind) => kind === 'received_email').length, 1)
    const first = await ctx.db.transaction((tx) => eraseReceived(tx, person))
    assert.isAtLeast(first.deleted['received_emails'] ?? 0, 1)
    const { rows } = await ctx.db.query<{ from: string }>('SELECT from_address AS from FROM received_emails')
    const left = rows.map(({ from }) => from)
    assert.include(left, 'bob@people.example')
    assert.notInclude(left, 'ann@people.example')
    const { rows: deliveries } = await ctx.db.query('SELECT FROM webhook_deliveries')
    assert.lengthOf(deliveries, left.length)
    const again = await ctx.db.transaction((tx) => eraseReceived(tx, person))
    assert.deepEqual(again, { deleted: { received_emails: 0 }, next: null })
  })
})
