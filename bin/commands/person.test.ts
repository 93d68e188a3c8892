import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { openLog } from '#src/platform/log.ts'
import { continueErasure } from '#src/privacy/erasure.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, type TestApi } from '#test/support/api.ts'

const PROGRAM = join(import.meta.dirname, '../mailstead')
const LOG = openLog({ logLevel: 'silent' }, 'test')

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** From a shell, as an operator does. */
describe('mailstead person', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' })
  })
  after(() => api.stop())

  function person(...args: string[]): Promise<Ended> {
    const { databaseUrl, redisUrl } = api.config
    const env = {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl ?? '',
      REDIS_URL: redisUrl ?? '',
      MASTER_KEY: '5a'.repeat(32),
      SETTINGS_FILE: 'none',
    }
    return new Promise((resolve) => {
      execFile(PROGRAM, ['person', ...args], { env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err })
      })
    })
  }

  const SPELLINGS = ['zelda.quux@gmail.com', 'ZeldaQuux+shop@googlemail.com', 'z.elda.quux@gmail.com'] as const

  async function fill(): Promise<void> {
    const call = (path: string, body: object, key?: string): Promise<unknown> =>
      api.call('POST', path, { body, ...(key === undefined ? {} : { key }) })
    for (const to of SPELLINGS)
      await call('/send-email/normal', { from: `a@${api.domain}`, to, subject: 'S', body: 'B' })
    await api.db.query(`UPDATE recipients SET state = 'delivered', is_open = false`)
    await api.db.query(
      sql`
        INSERT INTO contacts (id, workspace_id, email)
        VALUES (gen_random_uuid(), $1, 'zeldaquux@gmail.com'), (gen_random_uuid(), $1, 'bert@gmail.com')
      `,
      [api.workspaceId],
    )
    await call('/public/suppressions', { email: 'zelda.quux+x@gmail.com' }, api.admin)
    // a reply of the receiver to one of the messages
    await api.db.query(sql`
      INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw)
      SELECT gen_random_uuid(), now(), 'return-path', message_id, n, address, '192.0.2.1', 1, 'x'
      FROM recipients
    `)
  }

  it('exports and erases all spellings, and says what to do next', async () => {
    await fill()
    const exported = await person('export', 'ZELDA.QUUX@gmail.com')
    assert.strictEqual(exported.code, 0, exported.err)
    const kinds = exported.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { kind: string }).kind)
    assert.deepEqual(
      [...new Set(kinds)].map((kind) => [kind, kinds.filter((one) => one === kind).length]).slice(0, 3),
      [
        ['contact', 1],
        ['suppression', 1],
        ['message', 3],
      ],
    )
    const careful = await person('erase', SPELLINGS[0])
    assert.deepEqual([careful.code, careful.out], [2, ''])
    assert.match(careful.err, /export it first, then add --yes/)
    const begun = await person('erase', SPELLINGS[0], '--yes')
    assert.strictEqual(begun.code, 0, begun.err)
    const [, id = ''] = /mailstead person status (\S+)/.exec(begun.out) ?? []
    while (await continueErasure({ db: api.db, clock: systemClock, log: LOG }));
    const state = await person('status', id, '--json')
    assert.strictEqual(state.code, 0, state.err)
    assert.deepInclude(JSON.parse(state.out), { id, status: 'done' })
    const { rows } = await api.db.query('SELECT email FROM contacts')
    assert.deepEqual(rows, [{ email: 'bert@gmail.com' }])
    for (const table of ['messages', 'inbound_reports', 'suppressions'])
      assert.deepEqual((await api.db.query(`SELECT FROM ${table}`)).rows, [], table)
  })

  const WRONG: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [['export'], 2, /an argument is missing/],
    [['export', 'zelda'], 1, /email the address has no "@"/],
    [['status', 'x'], 1, /There is no such erasure/],
  ]
  for (const [args, code, said] of WRONG)
    it(`${args.join(' ')}: exit ${code}`, async () => {
      const ended = await person(...args)
      assert.strictEqual(ended.code, code, ended.err)
      assert.match(ended.err, said)
    })
})
