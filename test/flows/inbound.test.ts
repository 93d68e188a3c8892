/**
 * Mail at the inbound port, as a postmaster would describe it: from the SMTP dialog to the state, the event and the
 * suppression list.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { listReports, readBacklog, readRawReport } from '#mta/inbound/report-list.ts'
import { reviewSuppressions } from '#mta/inbound/suppression-review.ts'
import { readMessage } from '#src/messages/read.ts'
import { sql } from '#src/stores/sql.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { collect } from '#test/support/collect.ts'
import { deliverMessages, type DeliveredMessage } from '#test/support/delivered-messages.ts'
import { arfOf, hostileReportOf, dsnOf, outOfOfficeOf, textBounceOf } from '#test/support/reports.ts'
import { submitMessage, connectSmtp } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'

describe('inbound', function () {
  this.timeout(30_000)
  let ctx: TestContext
  let inbound: Inbound
  let workspaceId: string
  let count = 0
  before(async () => {
    ctx = await createContext({ HOSTNAME: 'mta.sender.example', INBOUND_PORT: '0', LOG_LEVEL: 'error' })
    inbound = await startInbound(ctx)
    workspaceId = await ctx.newWorkspace()
  })
  after(async () => {
    await inbound.stop()
    await ctx.close()
  })

  async function sent(address = `r${++count}@receiver.example`, outcome?: null): Promise<DeliveredMessage> {
    const [one] = await deliverMessages(ctx, workspaceId, [address], outcome)
    assert.ok(one !== undefined)
    return one
  }

  /** Brings a report to the port; the reply to the dot. */
  async function bring(to: string, content: string | Buffer): Promise<string> {
    return (await submitMessage(inbound.port, { from: '', to, content })).at(-1) ?? ''
  }

  const applied = async (): Promise<void> =>
    until(
      async () => {
        const { rows } = await ctx.db.query('SELECT 1 FROM inbound_reports WHERE due_at IS NOT NULL')
        return rows.length === 0
      },
      () => 'reports were not applied',
    )

  async function results(messageId: string): Promise<string[]> {
    const { rows } = await ctx.db.query<{ kind: string; result: string }>(
      'SELECT kind, result FROM inbound_reports WHERE message_id = $1 ORDER BY id',
      [messageId],
    )
    return rows.map(({ kind, result }) => `${kind}: ${result}`)
  }

  interface Told {
    readonly state: string
    readonly events: readonly {
      readonly type: string
      readonly data: Record<string, unknown> | null
      readonly sequence: number
    }[]
  }

  async function told(messageId: string): Promise<Told> {
    const message = await readMessage(ctx.db, workspaceId, messageId)
    return { state: message?.recipients[0]?.state ?? '', events: message?.events.slice(3) ?? [] }
  }

  const suppressionOf = async (
    address: string,
  ): Promise<{ kind: string; rule: string | null; text: string | undefined } | null> => {
    const [found] = await findSuppressions(ctx.db, workspaceId, [address])
    return found === undefined ? null : { kind: found.kind, rule: found.rule, text: found.reply?.text }
  }

  it('a hard bounce: the recipient is bounced, with an event, and suppressed with the reason', async () => {
    const one = await sent()
    assert.match(await bring(one.returnPath, dsnOf({ recipient: one.address })), /^250 2\.6\.0 /)
    await applied()
    const { state, events } = await told(one.messageId)
    assert.strictEqual(state, 'bounced')
    assert.deepEqual(
      events.map(({ type, data }) => [type, data]),
      [
        [
          'email.bounced',
          {
            bounce_type: 'hard',
            bounce_code: '5.1.1',
            bounce_class: 'no-such-user',
            bounce_scope: 'recipient',
            bounce_message: '550 5.1.1 <x>: no such user here',
            late: true,
          },
        ],
      ],
    )
    assert.deepEqual(await suppressionOf(one.address), {
      kind: 'hard_bounce',
      rule: 'no-such-user@1',
      text: '550 5.1.1 <x>: no such user here',
    })
    const [entry] = await findSuppressions(ctx.db, workspaceId, [one.address])
    assert.deepEqual([entry?.messageId, entry?.reply?.code, entry?.reply?.status], [one.messageId, 550, '5.1.1'])
    const {
      rows: [event],
    } = await ctx.db.query('SELECT type FROM events WHERE id = $1', [entry?.eventId])
    assert.strictEqual(event?.['type'], 'email.bounced')
  })

  const SOFT: readonly (readonly [what: string, status: string, diagnostic: string])[] = [
    ['a policy', '5.7.1', '554 5.7.1 <x>: message rejected by policy, no such user in our allow list'],
    ['a full mailbox', '5.2.2', '552 5.2.2 mailbox full'],
    ['a disabled mailbox', '5.2.1', '550 5.2.1 The account is disabled'],
    ['spam', '5.1.1', '550 5.1.1 message looks like spam'],
  ]
  for (const [what, status, diagnostic] of SOFT) {
    it(`a bounce for ${what}: bounced as soft, not suppressed`, async () => {
      const one = await sent()
      await bring(one.returnPath, dsnOf({ recipient: one.address, status, diagnostic }))
      await applied()
      const { state, events } = await told(one.messageId)
      assert.deepEqual([state, events[0]?.data?.['bounce_type']], ['bounced', 'soft'])
      assert.strictEqual(await suppressionOf(one.address), null)
    })
  }

  it('a plain-text bounce without a DSN: bounced', async () => {
    const one = await sent()
    await bring(one.returnPath, textBounceOf(one.address))
    await applied()
    assert.deepEqual(
      [(await told(one.messageId)).state, (await suppressionOf(one.address))?.rule],
      ['bounced', 'no-such-user@1'],
    )
  })

  it('real bounces of many servers: each recipient is bounced once', async () => {
    const folder = join(import.meta.dirname, '../corpora')
    const items = (
      JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as { file: string; format: string }[]
    )
      .filter(({ format }) => format === 'dsn')
      .slice(0, 40)
    const all = await deliverMessages(
      ctx,
      workspaceId,
      items.map((_, i) => `real${i}@corpus.example`),
    )
    await Promise.all(
      items.map(({ file }, i) =>
        bring(
          all[i]?.returnPath ?? '',
          readFileSync(join(folder, file), 'latin1').replaceAll(/\r?\n/g, '\r\n').replaceAll(/^\./gm, '..'),
        ),
      ),
    )
    await applied()
    const { rows } = await ctx.db.query<{ type: string; count: number }>(
      `SELECT type, count(*) AS count FROM events WHERE message_id = ANY ($1::uuid[]) GROUP BY type`,
      [all.map(({ messageId }) => messageId)],
    )
    const { rows: delays } = await ctx.db.query(
      `SELECT 1 FROM inbound_reports WHERE message_id = ANY ($1::uuid[]) AND kind = 'delay'`,
      [all.map(({ messageId }) => messageId)],
    )
    assert.strictEqual(rows.find(({ type }) => type === 'email.bounced')?.count, items.length - delays.length)
  })

  it('a bounce of a forwarded message suppresses the recipient only when repeated a day later', async () => {
    const address = 'forwarder@receiver.example'
    const [first, second] = [await sent(address), await sent(address)]
    await bring(first.returnPath, dsnOf({ recipient: 'gone@elsewhere.example' }))
    await applied()
    assert.deepEqual([(await told(first.messageId)).state, await suppressionOf(address)], ['bounced', null])
    ctx.advance(25 * 3_600_000)
    await bring(second.returnPath, dsnOf({ recipient: 'gone@elsewhere.example' }))
    await applied()
    assert.strictEqual((await suppressionOf(address))?.rule, 'forward-broken@1')
    assert.strictEqual(
      (await ctx.db.query('SELECT 1 FROM held_suppressions WHERE address = $1', [address])).rows.length,
      0,
    )
  })

  it('a replayed bounce changes nothing', async () => {
    const one = await sent()
    for (let i = 0; i < 3; i++) await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.strictEqual((await told(one.messageId)).events.length, 1)
    assert.deepEqual(await results(one.messageId), ['bounce: bounced', 'bounce: repeated', 'bounce: repeated'])
  })

  it('the same report over several connections to two processes is counted once', async () => {
    const second = await startInbound(ctx)
    const workspace = await ctx.newWorkspace()
    const many = await deliverMessages(
      ctx,
      workspace,
      Array.from({ length: 20 }, (_, i) => `twice${i}@receiver.example`),
    )
    const copies = many.flatMap(({ returnPath, address }, i) => {
      const content = i % 2 === 0 ? dsnOf({ recipient: address }) : arfOf()
      return [inbound.port, second.port, inbound.port, second.port].map((port) => ({ port, to: returnPath, content }))
    })
    const replies = await Promise.all(
      copies.map(async ({ port, to, content }) => (await submitMessage(port, { from: '', to, content })).at(-1)),
    )
    assert.deepEqual([...new Set(replies)], ['250 2.6.0 Accepted'])
    await applied()
    await second.stop()
    const { rows } = await ctx.db.query<{ type: string; n: number }>(
      sql`
        SELECT type, count(*) AS n
        FROM events
        WHERE workspace_id = $1 AND type IN ('email.bounced', 'email.complained')
        GROUP BY type
        ORDER BY type
      `,
      [workspace],
    )
    assert.deepEqual(rows, [
      { type: 'email.bounced', n: 10 },
      { type: 'email.complained', n: 10 },
    ])
    const { rows: counts } = await ctx.db.query(
      'SELECT sum(hard)::int AS hard, sum(complaints)::int AS complaints FROM workspace_hours WHERE workspace_id = $1',
      [workspace],
    )
    assert.deepEqual(counts, [{ hard: 10, complaints: 10 }])
    assert.strictEqual(
      (
        await findSuppressions(
          ctx.db,
          workspace,
          many.map(({ address }) => address),
        )
      ).length,
      20,
    )
  })

  it('at most twenty reports are stored for one recipient', async () => {
    const one = await sent()
    await Promise.all(Array.from({ length: 60 }, () => bring(one.returnPath, outOfOfficeOf())))
    await bring(one.returnPath, outOfOfficeOf())
    await applied()
    assert.ok((await results(one.messageId)).length <= 40, 'twenty, and as many of a batch at the same time')
    const before = (await results(one.messageId)).length
    await bring(one.returnPath, outOfOfficeOf())
    assert.strictEqual((await results(one.messageId)).length, before)
  })

  it('a delayed or relayed report and an automatic reply change nothing', async () => {
    const one = await sent()
    await bring(
      one.returnPath,
      dsnOf({ recipient: one.address, action: 'delayed', status: '4.4.1', diagnostic: 'connection timed out' }),
    )
    await bring(
      one.returnPath,
      dsnOf({ recipient: one.address, action: 'relayed', status: '2.0.0', diagnostic: '250 ok' }),
    )
    await bring(one.returnPath, outOfOfficeOf())
    await applied()
    const { state, events } = await told(one.messageId)
    assert.deepEqual(
      [state, events.length, await results(one.messageId)],
      ['delivered', 0, ['delay: noted', 'delivered: noted', 'autoreply: counted']],
    )
  })

  it('relayed mail is delivered when a DSN says so', async () => {
    const one = await sent()
    await ctx.db.query(`UPDATE recipients SET state = 'sent' WHERE message_id = $1`, [one.messageId])
    await bring(
      one.returnPath,
      dsnOf({ recipient: one.address, action: 'delivered', status: '2.0.0', diagnostic: '250 ok' }),
    )
    await applied()
    const { state, events } = await told(one.messageId)
    assert.deepEqual([state, events.map(({ type }) => type)], ['delivered', ['email.delivered']])
  })

  it('a bounce that arrives before the delivery is recorded waits until the recipient is settled', async () => {
    const one = await sent(undefined, null)
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await until(
      async () => (await results(one.messageId))[0] === 'bounce: waits',
      () => 'it does not wait',
    )
    await ctx.db.query(
      `UPDATE recipients SET state = 'delivered', is_open = false, lease = NULL WHERE message_id = $1`,
      [one.messageId],
    )
    ctx.advance(3000)
    await applied()
    assert.deepEqual(
      [(await told(one.messageId)).state, await results(one.messageId)],
      ['bounced', ['bounce: bounced']],
    )
  })

  it('a complaint: one event, a suppression, and the message stays delivered', async () => {
    const one = await sent()
    await bring(one.returnPath, arfOf())
    await bring(one.returnPath, arfOf('fraud'))
    await applied()
    const { state, events } = await told(one.messageId)
    assert.deepEqual(
      [state, events.map(({ type, data, sequence }) => [type, data, sequence])],
      ['delivered', [['email.complained', { feedback_type: 'abuse' }, 4]]],
    )
    assert.strictEqual((await suppressionOf(one.address))?.kind, 'complaint')
  })

  it('a complaint to the common address finds its mail by the return-path that it quotes', async () => {
    const one = await sent()
    assert.match(
      await bring('fbl@bounces.mta.sender.example', arfOf('abuse', `Return-Path: <${one.returnPath}>`)),
      /^250 /,
    )
    await applied()
    assert.deepEqual(
      (await told(one.messageId)).events.map(({ type }) => type),
      ['email.complained'],
    )
  })

  it('"opt out" is an unsubscribe, "not spam" is nothing', async () => {
    const [one, other] = [await sent(), await sent()]
    await bring(one.returnPath, arfOf('opt-out'))
    await bring(other.returnPath, arfOf('not-spam'))
    await applied()
    assert.deepEqual(
      (await told(one.messageId)).events.map(({ type }) => type),
      ['email.unsubscribed'],
    )
    assert.deepEqual(
      [(await suppressionOf(one.address))?.kind, await suppressionOf(other.address)],
      ['unsubscribe', null],
    )
    assert.deepEqual(await results(other.messageId), ['complaint: counted'])
  })

  it('a report about a deleted message changes nothing', async () => {
    const one = await sent()
    await ctx.db.query('DELETE FROM recipients WHERE message_id = $1', [one.messageId])
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.deepEqual(await results(one.messageId), ['bounce: gone'])
  })

  it('hostile reports are stored and finished; later reports are processed', async () => {
    const all = await deliverMessages(
      ctx,
      workspaceId,
      Array.from({ length: 6 }, (_, i) => `bomb${i}@receiver.example`),
    )
    for (const [i, { returnPath }] of all.entries()) assert.match(await bring(returnPath, hostileReportOf(i)), /^250 /)
    const one = await sent()
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.strictEqual((await told(one.messageId)).state, 'bounced')
  })

  it('a bounce of 25 MB is accepted; its beginning is stored', async () => {
    const one = await sent()
    const content = dsnOf({ recipient: one.address }).replace(
      'Hello\r\n--b1--',
      `${'x'.repeat(76)}\r\n`.repeat(340_000),
    )
    assert.match(await bring(one.returnPath, content), /^250 /)
    await applied()
    const {
      rows: [row],
    } = await ctx.db.query<{ size: number; kept: number }>(
      'SELECT size, length(raw) AS kept FROM inbound_reports WHERE message_id = $1',
      [one.messageId],
    )
    assert.ok((row?.size ?? 0) > 26_000_000)
    assert.strictEqual(row?.kept, 131_072)
    assert.strictEqual((await told(one.messageId)).state, 'bounced')
  })

  describe('a recheck of suppressions', () => {
    const doubtful = async (isLifting: boolean): Promise<string[]> =>
      (await collect(reviewSuppressions(ctx.db, isLifting)))
        .flat()
        .filter((one) => one.workspaceId === workspaceId)
        .map(({ address, reading }) => `${address} ${reading}`)

    it('removes nothing when the rules are unchanged', async () => {
      assert.deepEqual(await doubtful(true), [])
    })
    it('removes what a corrected rule would not have suppressed, by report or by reply', async () => {
      const one = await sent('wrong@receiver.example')
      await bring(one.returnPath, dsnOf({ recipient: one.address }))
      await applied()
      const full = Buffer.from(dsnOf({ recipient: one.address, status: '5.2.2', diagnostic: '552 5.2.2 mailbox full' }))
      await ctx.db.query('UPDATE inbound_reports SET raw = $1 WHERE message_id = $2', [full, one.messageId])
      const reply = { code: 550, status: '5.7.1', text: 'no such user here, says our policy' }
      const entry = { workspaceId, kind: 'hard_bounce' as const, reason: null, rule: 'no-such-user@0', reply }
      await suppress(ctx.db, [{ ...entry, address: 'policy@receiver.example' }], new Date())
      await suppress(
        ctx.db,
        [
          {
            ...entry,
            address: 'right@receiver.example',
            reply: { code: 550, status: null, text: 'no such user here' },
          },
        ],
        new Date(),
      )
      await suppress(
        ctx.db,
        [
          {
            ...entry,
            address: 'ann@spam.example',
            rule: 'no-such-domain@1',
            reply: { code: 550, status: '5.1.2', text: 'spam.example does not exist' },
          },
        ],
        new Date(),
      )
      await suppress(
        ctx.db,
        [{ workspaceId, address: 'hand@receiver.example', kind: 'manual', reason: null }],
        new Date(),
      )
      const found = ['policy@receiver.example policy', 'wrong@receiver.example mailbox-full']
      assert.deepEqual([await doubtful(false), await doubtful(true), await doubtful(true)], [found, found, []])
      assert.strictEqual(await suppressionOf('wrong@receiver.example'), null)
      assert.strictEqual((await suppressionOf('right@receiver.example'))?.kind, 'hard_bounce')
    })
    it('the operator lists reports and postmaster mail, and reads one in full', async () => {
      const [newest] = await listReports(ctx.db, { isForPostmaster: false, limit: 1 })
      assert.deepEqual([newest?.recipient, newest?.result], ['wrong@receiver.example', 'bounced'])
      assert.match((await readRawReport(ctx.db, newest?.id ?? ''))?.toString() ?? '', /^From: Mail Delivery System/)
      assert.strictEqual((await readBacklog(ctx.db)).waiting, 0)
    })
  })

  describe('the inbound port', () => {
    const refuse = (replies: readonly string[], pattern: RegExp): void => {
      assert.match(replies.at(-1) ?? '', pattern)
    }

    it('a forged token is refused and nothing is stored', async () => {
      const one = await sent()
      const stored = async (): Promise<number> => (await ctx.db.query('SELECT 1 FROM inbound_reports')).rows.length
      const before = await stored()
      const forged = one.returnPath.replace(/^b-(.)/, (_, letter: string) => `b-${letter === 'a' ? 'b' : 'a'}`)
      refuse(await submitMessage(inbound.port, { from: '', to: forged, content: 'x' }), /^550 5\.7\.1 /)
      assert.strictEqual(await stored(), before)
    })
    for (const [what, to] of [
      ['a stranger', 'ann@elsewhere.example'],
      ['nobody of ours', 'info@bounces.mta.sender.example'],
      ['an unsubscribe address', `u-${'a'.repeat(45)}@bounces.mta.sender.example`],
      ['abuse of another domain', 'abuse@elsewhere.example'],
      ['a name of every object', 'constructor@bounces.mta.sender.example'],
    ] as const) {
      it(`${what} is refused`, async () =>
        refuse(await submitMessage(inbound.port, { from: 'a@b.example', to, content: 'x' }), /^550 5\.7\.1 /))
    }
    for (const to of [
      'postmaster@mta.sender.example',
      'Postmaster@bounces.mta.sender.example',
      'postmaster',
      'abuse@bounces.mta.sender.example',
    ]) {
      it(`${to} is taken and kept`, async () => {
        assert.match(await bring(to, 'Subject: Hello\r\n\r\nIs somebody there?'), /^250 /)
        const { rows } = await ctx.db.query(
          'SELECT result FROM inbound_reports WHERE message_id IS NULL ORDER BY id DESC LIMIT 1',
        )
        assert.strictEqual(rows[0]?.['result'], 'kept')
      })
    }
    it('the token is valid in any letter case and at any domain', async () => {
      const one = await sent()
      const [local = ''] = one.returnPath.split('@')
      assert.match(
        await bring(`${local.toUpperCase()}@bounce.customer.example`, dsnOf({ recipient: one.address })),
        /^250 /,
      )
    })
    it('EHLO offers STARTTLS, 8BITMIME, SMTPUTF8, PIPELINING, SIZE, not AUTH; refuses unknown parameters', async () => {
      const connection = await connectSmtp(inbound.port)
      const offer = await connection.command('EHLO client.example')
      for (const word of ['STARTTLS', '8BITMIME', 'SMTPUTF8', 'PIPELINING', 'SIZE'])
        assert.match(offer, new RegExp(word))
      assert.notMatch(offer, /AUTH/)
      assert.match(await connection.command('STARTTLS'), /^220 /)
      await connection.startTls()
      await connection.command('EHLO client.example')
      assert.match(await connection.command('MAIL FROM:<> FOO=bar'), /^555 /)
      assert.match(await connection.command('MAIL FROM:<> BODY=8BITMIME SIZE=1000 SMTPUTF8'), /^250 /)
      connection.disconnect()
    })
    it('pipelined commands get their replies in order', async () => {
      const one = await sent()
      const connection = await connectSmtp(inbound.port)
      await connection.command('EHLO client.example')
      connection.send(`MAIL FROM:<>\r\nRCPT TO:<${one.returnPath}>\r\nRCPT TO:<no@such.example>\r\nDATA\r\n`)
      assert.deepEqual(
        [
          await connection.readReply(),
          await connection.readReply(),
          await connection.readReply(),
          await connection.readReply(),
        ].map((reply) => reply.slice(0, 3)),
        ['250', '250', '550', '354'],
      )
      connection.send(`${outOfOfficeOf()}.\r\n`)
      assert.match(await connection.readReply(), /^250 /)
      connection.disconnect()
    })
    it('a client that disconnects during a message leaves nothing behind', async () => {
      const one = await sent()
      const connection = await connectSmtp(inbound.port)
      for (const line of ['EHLO client.example', 'MAIL FROM:<>', `RCPT TO:<${one.returnPath}>`, 'DATA'])
        await connection.command(line)
      connection.send(dsnOf({ recipient: one.address }).slice(0, 500))
      connection.disconnect()
      const two = await sent()
      await bring(two.returnPath, dsnOf({ recipient: two.address }))
      await applied()
      assert.deepEqual(await results(one.messageId), [])
    })
    it('stored postmaster mail is limited', async () => {
      const replies = await Promise.all(Array.from({ length: 130 }, () => bring('postmaster@mta.sender.example', 'x')))
      assert.ok(replies.filter((reply) => reply.startsWith('452 4.3.1')).length >= 30)
    })
  })
})
