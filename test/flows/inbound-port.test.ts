/**
 * The inbound port: which recipients and commands it accepts, and how it bears repeated, hostile and very large
 * reports.
 */
import { randomUUID } from 'node:crypto'
import { assert } from 'chai'
import { startInbound } from '#mta/inbound/inbound.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { deliverMessages } from '#test/support/delivered-messages.ts'
import { arfOf, dsnOf, hostileReportOf, outOfOfficeOf } from '#test/support/reports.ts'
import { connectSmtp, submitMessage } from '#test/support/smtp-connection.ts'
import { setUpInbound } from './inbound.test-data.ts'

describe('the inbound port', () => {
  const scene = setUpInbound()
  const { sent, bring, applied, results, findOutcome } = scene

  const refuse = (replies: readonly string[], pattern: RegExp): void => {
    assert.match(replies.at(-1) ?? '', pattern)
  }

  it('a forged token is refused and nothing is stored', async () => {
    const one = await sent()
    const stored = async (): Promise<number> => (await scene.ctx.db.query('SELECT 1 FROM inbound_reports')).rows.length
    const before = await stored()
    const forged = one.returnPath.replace(/^b-(.)/, (_, letter: string) => `b-${letter === 'a' ? 'b' : 'a'}`)
    refuse(await submitMessage(scene.inbound.port, { from: '', to: forged, content: 'x' }), /^550 5\.7\.1 /)
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
      refuse(await submitMessage(scene.inbound.port, { from: 'a@b.example', to, content: 'x' }), /^550 5\.7\.1 /))
  }
  for (const to of [
    'postmaster@mta.sender.example',
    'Postmaster@bounces.mta.sender.example',
    'postmaster',
    'abuse@bounces.mta.sender.example',
  ]) {
    it(`${to} is accepted and stored`, async () => {
      assert.match(await bring(to, 'Subject: Hello\r\n\r\nIs somebody there?'), /^250 /)
      const { rows } = await scene.ctx.db.query(
        'SELECT result FROM inbound_reports WHERE message_id IS NULL ORDER BY id DESC LIMIT 1',
      )
      assert.strictEqual(rows[0]?.['result'], 'kept')
    })
  }
  it('the token is valid in any letter case, and only where return-paths are issued', async () => {
    const { address, returnPath } = await sent()
    const [token = ''] = returnPath.split('@')
    const report = dsnOf({ recipient: address })
    const name = `${randomUUID()}.example`
    await scene.ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status, mail_from_status)
        VALUES ($1, $2, $3, 'verified', 'failed')
      `,
      [newId(), scene.workspaceId, name],
    )
    const strange = ['elsewhere.example', name, `bounce.${name}`]
    for (const domain of strange)
      refuse(
        await submitMessage(scene.inbound.port, { from: '', to: `${token}@${domain}`, content: report }),
        /^550 5\.7\.1 /,
      )
    await scene.ctx.db.query(`UPDATE domains SET mail_from_status = 'verified' WHERE domain = $1`, [name])
    for (const domain of ['mta.sender.example', `BOUNCE.${name}`])
      assert.match(await bring(`${token.toUpperCase()}@${domain}`, report), /^250 /)
  })
  it('EHLO offers STARTTLS, 8BITMIME, SMTPUTF8, PIPELINING, SIZE, not AUTH; refuses unknown parameters', async () => {
    const connection = await connectSmtp(scene.inbound.port)
    const offer = await connection.command('EHLO client.example')
    for (const word of ['STARTTLS', '8BITMIME', 'SMTPUTF8', 'PIPELINING', 'SIZE']) assert.match(offer, new RegExp(word))
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
    const connection = await connectSmtp(scene.inbound.port)
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
    const connection = await connectSmtp(scene.inbound.port)
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

  it('a replayed bounce changes nothing', async () => {
    const one = await sent()
    for (let i = 0; i < 3; i++) await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.strictEqual((await findOutcome(one.messageId)).events.length, 1)
    assert.deepEqual(await results(one.messageId), ['bounce: bounced', 'bounce: repeated', 'bounce: repeated'])
  })

  it('the same report over several connections to two processes is counted once', async () => {
    const second = await startInbound(scene.ctx)
    const workspace = await scene.ctx.newWorkspace()
    const many = await deliverMessages(
      scene.ctx,
      workspace,
      Array.from({ length: 20 }, (_, i) => `twice${i}@receiver.example`),
    )
    const copies = many.flatMap(({ returnPath, address }, i) => {
      const content = i % 2 === 0 ? dsnOf({ recipient: address }) : arfOf()
      return [scene.inbound.port, second.port, scene.inbound.port, second.port].map((port) => ({
        port,
        to: returnPath,
        content,
      }))
    })
    const replies = await Promise.all(
      copies.map(async ({ port, to, content }) => (await submitMessage(port, { from: '', to, content })).at(-1)),
    )
    assert.deepEqual([...new Set(replies)], ['250 2.6.0 Accepted'])
    await applied()
    await second.stop()
    const { rows } = await scene.ctx.db.query<{ type: string; n: number }>(
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
    const { rows: counts } = await scene.ctx.db.query(
      'SELECT sum(hard)::int AS hard, sum(complaints)::int AS complaints FROM workspace_hours WHERE workspace_id = $1',
      [workspace],
    )
    assert.deepEqual(counts, [{ hard: 10, complaints: 10 }])
    assert.strictEqual(
      (
        await findSuppressions(
          scene.ctx.db,
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

  it('hostile reports are stored and finished; later reports are processed', async () => {
    const all = await deliverMessages(
      scene.ctx,
      scene.workspaceId,
      Array.from({ length: 6 }, (_, i) => `bomb${i}@receiver.example`),
    )
    for (const [i, { returnPath }] of all.entries()) assert.match(await bring(returnPath, hostileReportOf(i)), /^250 /)
    const one = await sent()
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.strictEqual((await findOutcome(one.messageId)).state, 'bounced')
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
    } = await scene.ctx.db.query<{ size: number; kept: number }>(
      'SELECT size, length(raw) AS kept FROM inbound_reports WHERE message_id = $1',
      [one.messageId],
    )
    assert.ok((row?.size ?? 0) > 26_000_000)
    assert.strictEqual(row?.kept, 131_072)
    assert.strictEqual((await findOutcome(one.messageId)).state, 'bounced')
  })
})
