/** Which lines of a log count, which mail they settle, and which they name as lost. */
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { idAt, newId } from '#src/platform/id.ts'
import { hashAddress } from '#src/platform/log-addresses.ts'
import { listLost } from '#src/queue/lost-mail.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { compareWithLog, parseLogLine, settleSent, type LoggedAttempt } from './sent-mail.ts'

const ID = '01a209e8-5a9d-7000-9f82-6c08f1951cf0'
const ADDRESS_KEY = 'a key of addresses in logs'
const LINE = { time: '2031-11-04T09:35:53.158Z', id: ID, from: 'a@b.example', to: 'c@d.example', msg: 'deliver' }

const LINES: readonly (readonly [name: string, line: string, outcome: string | null])[] = [
  ['an attempt', JSON.stringify(LINE), 'deliver'],
  ['a deferral', JSON.stringify({ ...LINE, msg: 'defer' }), 'defer'],
  ['an attempt without a sender', JSON.stringify({ ...LINE, from: null }), 'deliver'],
  ['another event', JSON.stringify({ ...LINE, msg: 'accepted' }), null],
  ['a line without a recipient', JSON.stringify({ ...LINE, to: undefined }), null],
  ['an id that is none', JSON.stringify({ ...LINE, id: 'x' }), null],
  ['a time that is none', JSON.stringify({ ...LINE, time: 'soon' }), null],
  ['a line that was cut', JSON.stringify(LINE).slice(0, -5), null],
  ['text', 'deliver', null],
  ['an empty line', '', null],
  ['another kind of JSON', '{"a":[1]}', null],
]

describe('logs of sent mail', () => {
  for (const [name, line, outcome] of LINES)
    it(`${outcome === null ? 'skip' : 'read'} ${name}`, () =>
      assert.strictEqual(parseLogLine(line)?.outcome ?? null, outcome))

  let ctx: TestContext
  let messageId: string
  const since = new Date(Date.now() - 3_600_000)
  before(async () => {
    ctx = await createContext()
    const submission = submissionOf(await ctx.newWorkspace())
    messageId = submission.id
    await createAcceptor(ctx).accept(submission)
  })
  after(() => ctx.close())

  const attempt = (fields: Partial<LoggedAttempt> = {}): LoggedAttempt => ({
    messageId,
    n: null,
    to: 'Ada@receiver.example',
    from: null,
    outcome: 'deliver',
    at: new Date(),
    source: 'log',
    ...fields,
  })
  const find = async (attempts: readonly LoggedAttempt[], addressKey: string | null = null): Promise<number> =>
    (await compareWithLog(ctx.db, attempts, { since, addressKey })).length

  it('find mail that waits although it was sent, by address, hash or number', async () => {
    assert.strictEqual(await find([attempt()]), 1)
    assert.strictEqual(await find([attempt({ to: '@receiver.example', n: 0, source: 'journal' })]), 1)
    const hashed = attempt({ to: hashAddress(ADDRESS_KEY, 'ada@receiver.example') })
    assert.deepEqual([await find([hashed], ADDRESS_KEY), await find([hashed])], [1, 0])
  })

  it('find nothing in attempts that failed, are older than the backup, or are of others', async () => {
    assert.strictEqual(await find([attempt({ outcome: 'defer' })]), 0)
    assert.strictEqual(await find([attempt({ at: new Date(since.getTime() - 3_600_000) })]), 0)
    assert.strictEqual(await find([attempt({ to: 'bob@receiver.example' })]), 0)
  })

  it('record only mail of the missing time that the database lacks, with its last result', async () => {
    const [lost, old] = [newId(), idAt(since.getTime() - 86_400_000)]
    const at = (ms: number): Date => new Date(Date.now() + ms)
    await find([
      attempt(),
      attempt({ messageId: old }),
      attempt({ messageId: lost, outcome: 'deliver', at: at(2000) }),
      attempt({ messageId: lost, outcome: 'defer', at: at(1000) }),
    ])
    await find([attempt({ messageId: lost, outcome: 'defer', at: at(1000) })])
    assert.deepEqual(
      (await listLost(ctx.db)).map(({ messageId: id, outcome }) => [id, outcome]),
      [[lost, 'deliver']],
    )
  })

  it('settle mail once', async () => {
    const sent = await compareWithLog(ctx.db, [attempt(), attempt()], { since, addressKey: null })
    assert.deepEqual([await settleSent(ctx, sent), await settleSent(ctx, sent)], [1, 0])
    const { rows } = await ctx.db.query('SELECT state, is_open FROM recipients WHERE message_id = $1', [messageId])
    assert.deepEqual(rows, [{ state: 'delivered', is_open: false }])
  })
})
