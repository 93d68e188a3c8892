/**
 * Bounces and complaints at the inbound port, as a postmaster would describe them: from the SMTP dialog to the state,
 * the event and the suppression list.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { listReports, readBacklog, readRawReport } from '#src/suppression/report-list.ts'
import { reviewSuppressions } from '#mta/inbound/suppression-review.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { collect } from '#test/support/collect.ts'
import { deliverMessages } from '#test/support/delivered-messages.ts'
import { arfOf, dsnOf, outOfOfficeOf, textBounceOf } from '#test/support/reports.ts'
import { until } from '#test/support/until.ts'
import { setUpInbound } from './inbound.test-data.ts'

describe('inbound', () => {
  const scene = setUpInbound()
  const { sent, bring, applied, results, findOutcome, suppressionOf } = scene

  it('a hard bounce: the recipient is bounced, with an event, and suppressed with the reason', async () => {
    const one = await sent()
    assert.match(await bring(one.returnPath, dsnOf({ recipient: one.address })), /^250 2\.6\.0 /)
    await applied()
    const { state, events } = await findOutcome(one.messageId)
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
    const [entry] = await findSuppressions(scene.ctx.db, scene.workspaceId, [one.address])
    assert.deepEqual([entry?.messageId, entry?.reply?.code, entry?.reply?.status], [one.messageId, 550, '5.1.1'])
    const {
      rows: [event],
    } = await scene.ctx.db.query('SELECT type FROM events WHERE id = $1', [entry?.eventId])
    assert.strictEqual(event?.['type'], 'email.bounced')
  })

  const SOFT: readonly (readonly [what: string, status: string, diagnostic: string])[] = [
    ['a policy', '5.7.1', '554 5.7.1 <x>: message rejected by policy, no such user in our allow list'],
    ['a full mailbox', '5.2.2', '552 5.2.2 mailbox full'],
    ['a disabled mailbox', '5.2.1', '550 5.2.1 The account is disabled'],
    ['spam', '5.1.1', '550 5.1.1 message looks like spam'],
    ['a block list', '5.1.1', '550 5.1.1 user unknown, see https://www.spamhaus.org/sbl/query/SBL1'],
  ]
  for (const [what, status, diagnostic] of SOFT) {
    it(`a bounce for ${what}: bounced as soft, not suppressed`, async () => {
      const one = await sent()
      await bring(one.returnPath, dsnOf({ recipient: one.address, status, diagnostic }))
      await applied()
      const { state, events } = await findOutcome(one.messageId)
      assert.deepEqual([state, events[0]?.data?.['bounce_type']], ['bounced', 'soft'])
      assert.strictEqual(await suppressionOf(one.address), null)
    })
  }

  it('a plain-text bounce without a DSN: bounced', async () => {
    const one = await sent()
    await bring(one.returnPath, textBounceOf(one.address))
    await applied()
    assert.deepEqual(
      [(await findOutcome(one.messageId)).state, (await suppressionOf(one.address))?.rule],
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
      scene.ctx,
      scene.workspaceId,
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
    const { rows } = await scene.ctx.db.query<{ type: string; count: number }>(
      `SELECT type, count(*) AS count FROM events WHERE message_id = ANY ($1::uuid[]) GROUP BY type`,
      [all.map(({ messageId }) => messageId)],
    )
    const { rows: delays } = await scene.ctx.db.query(
      `SELECT 1 FROM inbound_reports WHERE message_id = ANY ($1::uuid[]) AND kind = 'delay'`,
      [all.map(({ messageId }) => messageId)],
    )
    assert.strictEqual(rows.find(({ type }) => type === 'email.bounced')?.count, items.length - delays.length)
  })

  it('a bounce of a forwarded message suppresses the recipient only when repeated a day later', async () => {
    const address = 'forwarder@receiver.example'
    const [first, second] = [await sent(address), await sent(address)]
    // some servers name the alias and quote a reply about its target
    await bring(
      first.returnPath,
      dsnOf({ recipient: address, diagnostic: '550 5.1.1 <gone@elsewhere.example> unknown' }),
    )
    await applied()
    assert.deepEqual([(await findOutcome(first.messageId)).state, await suppressionOf(address)], ['bounced', null])
    scene.ctx.advance(25 * 3_600_000)
    await bring(second.returnPath, dsnOf({ recipient: 'gone@elsewhere.example' }))
    await applied()
    assert.strictEqual((await suppressionOf(address))?.rule, 'forward-broken@1')
    assert.strictEqual(
      (await scene.ctx.db.query('SELECT 1 FROM held_suppressions WHERE address = $1', [address])).rows.length,
      0,
    )
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
    const { state, events } = await findOutcome(one.messageId)
    assert.deepEqual(
      [state, events.length, await results(one.messageId)],
      ['delivered', 0, ['delay: noted', 'delivered: noted', 'autoreply: counted']],
    )
  })

  it('relayed mail is delivered when a DSN says so', async () => {
    const one = await sent()
    await scene.ctx.db.query(`UPDATE recipients SET state = 'sent' WHERE message_id = $1`, [one.messageId])
    await bring(
      one.returnPath,
      dsnOf({ recipient: one.address, action: 'delivered', status: '2.0.0', diagnostic: '250 ok' }),
    )
    await applied()
    const { state, events } = await findOutcome(one.messageId)
    assert.deepEqual([state, events.map(({ type }) => type)], ['delivered', ['email.delivered']])
  })

  it('a bounce that arrives before the delivery is recorded waits until the recipient is settled', async () => {
    const one = await sent(undefined, null)
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await until(
      async () => (await results(one.messageId))[0] === 'bounce: waits',
      () => 'it does not wait',
    )
    await scene.ctx.db.query(
      `UPDATE recipients SET state = 'delivered', is_open = false, lease = NULL WHERE message_id = $1`,
      [one.messageId],
    )
    scene.ctx.advance(3000)
    await applied()
    assert.deepEqual(
      [(await findOutcome(one.messageId)).state, await results(one.messageId)],
      ['bounced', ['bounce: bounced']],
    )
  })

  it('a complaint: one event, a suppression, and the message stays delivered', async () => {
    const one = await sent()
    await bring(one.returnPath, arfOf())
    await bring(one.returnPath, arfOf('fraud'))
    await applied()
    const { state, events } = await findOutcome(one.messageId)
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
      (await findOutcome(one.messageId)).events.map(({ type }) => type),
      ['email.complained'],
    )
  })

  it('"opt out" is an unsubscribe, "not spam" is nothing', async () => {
    const [one, other] = [await sent(), await sent()]
    await bring(one.returnPath, arfOf('opt-out'))
    await bring(other.returnPath, arfOf('not-spam'))
    await applied()
    assert.deepEqual(
      (await findOutcome(one.messageId)).events.map(({ type }) => type),
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
    await scene.ctx.db.query('DELETE FROM recipients WHERE message_id = $1', [one.messageId])
    await bring(one.returnPath, dsnOf({ recipient: one.address }))
    await applied()
    assert.deepEqual(await results(one.messageId), ['bounce: gone'])
  })

  describe('a recheck of suppressions', () => {
    const doubtful = async (isLifting: boolean): Promise<string[]> =>
      (await collect(reviewSuppressions(scene.ctx.db, isLifting)))
        .flat()
        .filter((one) => one.workspaceId === scene.workspaceId)
        .map(({ address, reading }) => `${address} ${reading}`)

    it('removes nothing when the rules are unchanged', async () => {
      assert.deepEqual(await doubtful(true), [])
    })
    it('removes what a corrected rule would not have suppressed, by report or by reply', async () => {
      const one = await sent('wrong@receiver.example')
      await bring(one.returnPath, dsnOf({ recipient: one.address }))
      await applied()
      const full = Buffer.from(dsnOf({ recipient: one.address, status: '5.2.2', diagnostic: '552 5.2.2 mailbox full' }))
      await scene.ctx.db.query('UPDATE inbound_reports SET raw = $1 WHERE message_id = $2', [full, one.messageId])
      const reply = { code: 550, status: '5.7.1', text: 'no such user here, says our policy' }
      const { workspaceId } = scene
      const entry = { workspaceId, kind: 'hard_bounce' as const, reason: null, rule: 'no-such-user@0', reply }
      const unknown = { code: 550, status: null, text: 'no such user here' }
      const alias = { code: 550, status: '5.1.1', text: '<nosuch@c.example>: user unknown' }
      const noDomain = { code: 550, status: '5.1.2', text: 'spam.example does not exist' }
      await suppress(
        scene.ctx.db,
        [
          { ...entry, address: 'policy@receiver.example' },
          { ...entry, address: 'right@receiver.example', reply: unknown },
          { ...entry, address: 'ann@spam.example', rule: 'no-such-domain@1', reply: noDomain },
          { ...entry, address: 'alias@receiver.example', rule: 'no-such-user@1', reply: alias },
          { workspaceId, address: 'hand@receiver.example', kind: 'manual', reason: null },
        ],
        new Date(),
      )
      const found = [
        'alias@receiver.example forward-broken',
        'policy@receiver.example policy',
        'wrong@receiver.example mailbox-full',
      ]
      assert.deepEqual([await doubtful(false), await doubtful(true), await doubtful(true)], [found, found, []])
      assert.strictEqual(await suppressionOf('wrong@receiver.example'), null)
      assert.strictEqual((await suppressionOf('right@receiver.example'))?.kind, 'hard_bounce')
    })
    it('the operator lists reports and postmaster mail, and reads one in full', async () => {
      const {
        items: [newest],
      } = await listReports(scene.ctx.db, { isForPostmaster: false, limit: 1, at: null })
      assert.deepEqual([newest?.recipient, newest?.result], ['wrong@receiver.example', 'bounced'])
      assert.match(
        (await readRawReport(scene.ctx.db, newest?.id ?? ''))?.toString() ?? '',
        /^From: Mail Delivery System/,
      )
      assert.strictEqual((await readBacklog(scene.ctx.db)).waiting, 0)
    })
  })
})
