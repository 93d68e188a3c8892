/** `mailstead queue` as an operator uses it, on a database with mail. */
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { runCommand, type CommandMain, type CommandResult } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { run as link } from './link.ts'
import { run } from './queue.ts'
import { run as workspace } from './workspace.ts'

interface Done extends CommandResult {
  readonly json: Record<string, unknown> & readonly Record<string, unknown>[]
}

describe('mailstead queue', () => {
  let ctx: TestContext
  let workspaceId: string
  let id: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    const submission = submissionOf(workspaceId, { tier: 'bulk', recipients: testRecipients(3) })
    id = `em_${hexOf(submission.id)}`
    await createAcceptor(ctx).accept(submission)
    await createAcceptor(ctx).accept(submissionOf(workspaceId, { tier: 'instant' }))
  })
  after(() => ctx.close())

  const call = (...args: string[]): Promise<Done> => callOf(run, ...args)
  async function callOf(command: CommandMain, ...args: string[]): Promise<Done> {
    const ended = await runCommand(command, args, { DATABASE_URL: ctx.databaseUrl, REDIS_URL: ctx.redisUrl })
    return {
      ...ended,
      json: (args.includes('--json') && ended.out !== '' ? JSON.parse(ended.out) : []) as Done['json'],
    }
  }

  it('counts and lists open recipients', async () => {
    assert.match((await call('status')).out, /bulk +queued +3 .*\ninstant +queued +1 /)
    const counted = await call('count', '--by', 'tier', '--json')
    assert.deepEqual(
      counted.json.map(({ tier, count }) => [tier, count]),
      [
        ['bulk', 3],
        ['instant', 1],
      ],
    )
    const listed = await call('list', '--message', id, '--limit', '2', '--json')
    assert.deepEqual(
      listed.json.map((one) => [one['recipient'], one['workspace_id']]),
      [
        ['r0@receiver.example', workspaceId],
        ['r1@receiver.example', workspaceId],
      ],
    )
    assert.match((await call('list', '--older-than', '1d')).out, /The queue is empty/)
  })
  it('suspends and resumes, as text and as JSON', async () => {
    assert.match(
      (await call('suspend', 'Slow.example', '--reason', 'asked')).out,
      /^Mail to slow\.example waits until you resume it: mailstead queue resume slow\.example$/m,
    )
    const scopeOf = async (...more: string[]): Promise<unknown> =>
      (await call('suspend', '--workspace', workspaceId, '--until', '2099-01-01', '--json', ...more)).json['scope']
    assert.deepEqual([await scopeOf(), await scopeOf('--mail-only')], ['all', 'mail'])
    const why = /suspended: workspace .* \(suspended by the operator\) until 2099-01-01T00:00:00\.000Z/
    assert.match((await call('list', '--limit', '1')).out, why)
    assert.match(
      (await call('status')).out,
      /suspended: domain slow\.example \(asked\)\nsuspended: workspace .* until 2099-01-01T00:00:00\.000Z/,
    )
    const resumed = await call('resume', 'slow.example', '--json')
    assert.deepEqual([resumed.code, resumed.json['resumed']], [0, 'slow.example'])
    assert.strictEqual((await call('resume', 'slow.example')).code, 1)
    assert.strictEqual((await call('resume', '--workspace', workspaceId)).code, 0)
  })
  it('a workspace that abuses the service is suspended with its keys, or only paused', async () => {
    const suspended = await callOf(workspace, 'suspend', workspaceId, '--reason', 'phishing')
    assert.match(suspended.out, /its keys get 403,\nand its links, pages and hosted mail are switched off/)
    assert.match((await call('status')).out, /suspended: workspace .* \(phishing\), with its keys and links/)
    await callOf(workspace, 'pause', workspaceId)
    assert.notMatch((await call('status')).out, /with its keys and links/)
    assert.strictEqual((await callOf(workspace, 'resume', workspaceId)).code, 0)
  })
  it('a link is blocked by its target, listed and unblocked', async () => {
    const url = 'https://phish.example/login'
    const blocked = await callOf(link, 'block', `${url}#now`, '--reason', 'reported\u001b[2J')
    assert.match(blocked.out, /^The link to https:\/\/phish\.example\/login is blocked/)
    const listed = await callOf(link, 'list', '--json')
    assert.deepEqual([listed.json[0]?.['kind'], listed.json[0]?.['subject']], ['url', url])
    assert.ok(!(await callOf(link, 'list')).out.includes('\u001b'))
    assert.strictEqual((await callOf(link, 'unblock', url)).code, 0)
    assert.strictEqual((await callOf(link, 'unblock', url)).code, 1)
    assert.match((await callOf(link, 'block', 'no link')).err, /give a link/)
  })
  it('lists suspended receivers with rule and times, resumes them, and escapes their replies', async () => {
    const hostile = '421 4.7.0 [TS04]\u001b[2J\u001b]0;owned\u0007\u009b31m<script>\r\nbulk  queued  9'
    await ctx.db.query(
      sql`
        INSERT INTO receiver_suspensions (id, pace, source, rule, reply, until)
        VALUES ($1, 'yahoo', 'default', 'ts04', $2, now() + interval '2 hours')
      `,
      [newId(), hostile],
    )
    await ctx.db.query('UPDATE recipients SET reason = $1', [hostile])
    const { out } = await call('status')
    assert.match(out, /suspended: receiver yahoo by rule ts04 since \d{4}-.*Z until \d{4}-.*Z \(421 4\.7\.0 \[TS04\]/)
    const texts = [out, (await call('list')).out, (await call('actions')).out]
    for (const text of texts) assert.notMatch(text, /[^\P{Cc}\n]/u)
    assert.strictEqual(
      texts.some((text) => /^bulk {2}queued {2}9/m.test(text)),
      false,
      "a line of a stranger's own",
    )
    const { receivers } = (await call('status', '--json')).json as unknown as { receivers: Record<string, unknown>[] }
    assert.deepEqual(
      [
        receivers[0]?.['receiver'],
        receivers[0]?.['rule'],
        typeof receivers[0]?.['created_at'],
        typeof receivers[0]?.['until'],
      ],
      ['yahoo', 'ts04', 'string', 'string'],
    )
    assert.deepEqual((await call('resume', '--receiver', 'yahoo', '--json')).json, {
      resumed: 'yahoo',
      kind: 'receiver',
    })
    assert.strictEqual((await call('resume', '--receiver', 'yahoo')).code, 1)
    assert.notMatch((await call('status')).out, /yahoo/)
  })
  it('retries, drops, and drops with a bounce', async () => {
    assert.strictEqual((await call('retry', '--tier', 'bulk', '--json')).json['retried'], 3)
    assert.strictEqual((await call('drop', '--tier', 'instant', '--yes', '--json')).json['dropped'], 1)
    const bounced = await call('drop', '--message', id, '--bounce', '--yes', '--reason', 'wrong list', '--json')
    assert.deepEqual([bounced.json['bounced'], bounced.json['state']], [3, 'done'])
    const { rows } = await ctx.db.query(
      'SELECT state, reason, count(*) AS count FROM recipients GROUP BY 1, 2 ORDER BY 1',
    )
    assert.deepEqual(rows, [
      { state: 'cancelled', reason: 'dropped by the operator', count: 1 },
      { state: 'failed', reason: 'wrong list', count: 3 },
    ])
    const { rows: events } = await ctx.db.query(sql`
      SELECT data->>'reason' AS why, count(*) AS count
      FROM events
      WHERE type = 'email.failed'
      GROUP BY 1
    `)
    assert.deepEqual(events, [{ why: 'given-up-by-operator', count: 3 }])
  })
  it('records each action with its actor and reason', async () => {
    const { json } = await call('actions', '--json')
    assert.deepEqual(
      json.map(({ verb }) => verb),
      ['bounce', 'drop', 'retry', 'resume', 'resume', 'resume', 'suspend', 'suspend', 'suspend'].slice(0, json.length),
    )
    assert.match(String(json[0]?.['by']), /^command line/)
  })

  const WRONG: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['drop'], /add --yes/],
    [['list', '--tier', 'slow'], /--tier must be one of/],
    [['list', '--older-than', 'x'], /--older-than is not an age/],
    [['count', '--by', 'moon'], /--by must be one of/],
    [['suspend'], /give one of/],
    [['suspend', 'a.example', '--site', 's'], /give one of/],
    [['suspend', 'a.example', '--until', '2020-01-01'], /must be a time in the future/],
    [['list', '--limit', '0'], /--limit/],
    [['retry', '--workspace', 'nobody'], /no such workspace/],
  ]
  for (const [args, message] of WRONG)
    it(`fails with exit code 2: ${args.join(' ')}`, async () => {
      const { code, err } = await call(...args)
      assert.strictEqual(code, 2)
      assert.match(err, message)
    })
})
