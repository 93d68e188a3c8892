/** What is erased of reports about mail that is not stored any more, and what is not this workspace's to erase. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { eraseReports } from './erase-unlinked.ts'

const PERSON = 'zelda.quux@gmail.com'
const SPELLING = 'ZeldaQuux+shop@googlemail.com'
const aboutMailOf = (domain: string): string => `Final-Recipient: rfc822;${SPELLING}\r\n\r\nFrom: a@${domain}\r\n`

interface Case {
  readonly title: string
  readonly target: 'return-path' | 'complaint' | 'postmaster'
  /** It names a message that is not stored any more. */
  readonly hasMessage?: boolean
  readonly from?: string
  readonly raw: string
  readonly isErased: boolean
}

const CASES: readonly Case[] = [
  {
    title: 'of a deleted message, in the text',
    target: 'return-path',
    hasMessage: true,
    raw: aboutMailOf('x.example'),
    isErased: true,
  },
  {
    title: 'of a deleted message, by the sender',
    target: 'return-path',
    hasMessage: true,
    from: SPELLING,
    raw: '',
    isErased: true,
  },
  {
    title: 'of a deleted message to somebody else',
    target: 'return-path',
    hasMessage: true,
    raw: 'To: b@b.example',
    isErased: false,
  },
  {
    title: 'of no message, about mail of the workspace',
    target: 'complaint',
    raw: aboutMailOf('OURS.example'),
    isErased: true,
  },
  {
    title: 'of no message, about mail of others',
    target: 'complaint',
    raw: aboutMailOf('elsewhere.example'),
    isErased: false,
  },
  // it may be a complaint about the workspace
  { title: 'to the postmaster', target: 'postmaster', from: PERSON, raw: aboutMailOf('ours.example'), isErased: false },
]

describe('erasure of reports', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    await ctx.db.query(`INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, 'ours.example')`, [
      newId(),
      workspaceId,
    ])
  })
  after(() => ctx.close())

  const isStored = async (id: string): Promise<boolean> =>
    (await ctx.db.query('SELECT FROM inbound_reports WHERE id = $1', [id])).rows.length > 0

  for (const { title, target, hasMessage = false, from = '', raw, isErased } of CASES)
    it(`${title}: ${isErased ? 'erased' : 'kept'}`, async () => {
      const id = newId()
      await ctx.db.query(
        sql`
          INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw, result)
          VALUES ($1, now(), $2, $3, $4, $5, '192.0.2.1', $6, convert_to($7, 'UTF8'), 'kept')
        `,
        [id, target, hasMessage ? newId() : null, hasMessage ? 0 : null, from, raw.length, raw],
      )
      const person = { workspaceId, email: PERSON }
      const { deleted, next } = await eraseReports(ctx.db, person, { position: null, now: new Date() })
      assert.strictEqual(next, null)
      assert.strictEqual(deleted['inbound_reports'], isErased ? 1 : 0)
      assert.strictEqual(await isStored(id), !isErased)
    })
})
