/**
 * Mail that an inbound route forwards, while the inbound role and the worker are killed with -9: each mail that was
 * answered with 250 is forwarded, and once. The exception is that of SMTP (RFC 5321, section 6.1): a sender that got no
 * reply sends the mail again, and then it may be forwarded once for each time that it was sent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { waitUntilDrained } from '#test/support/ledger.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const MAILS = 240
const SENDERS = 8
const MOST_PAUSE_MS = 150
const KILLS = 7
const PATIENCE_MS = 60_000

const contentOf = (n: number): string =>
  [
    'From: Ann <ann@friend.example>',
    'To: support@sender.example',
    'Date: Thu, 1 Jan 2026 10:00:00 +0000',
    `Message-ID: <${n}@friend.example>`,
    `X-Mail: ${n}`,
    'Subject: Hello',
    '',
    'Hello',
  ].join('\r\n')

describe('forwarding of inbound mail during kills', function () {
  this.timeout(PATIENCE_MS * 2)
  let testbed: Testbed
  let home: Receiver
  let address: string
  before(async () => {
    testbed = await startTestbed()
    const { system } = testbed
    home = await testbed.addReceiver('home.example')
    await system.roles.inbound.start()
    const userId = newId()
    await system.db.query(`INSERT INTO users (id, email, name) VALUES ($1, 'bea@home.example', 'Bea')`, [userId])
    await system.db.query(`INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, 'developer')`, [
      system.workspaceId,
      userId,
    ])
    address = `support@${system.domain}`
    const body = { address, action: 'forward', forward_to: ['bea@home.example'] }
    const created = await system.call('POST', '/public/inbound/routes', { key: system.admin, body })
    assert.strictEqual(created.status, 201, JSON.stringify(created.body))
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  /** How often each mail was sent; the last time was answered with 250. */
  const sent = new Map<number, number>()
  let accepted = 0

  async function sendUntilAccepted(n: number): Promise<void> {
    for (let isAccepted = false; !isAccepted;) {
      const mail = { from: 'ann@friend.example', to: address, content: contentOf(n) }
      const replies = await submitMessage(testbed.system.config.inboundPort, mail).catch((): string[] => [])
      // fewer: refused before its content was sent, because the route is not known yet, or the process is gone
      if (replies.length === 4) sent.set(n, (sent.get(n) ?? 0) + 1)
      isAccepted = replies.length === 4 && replies.at(-1)?.startsWith('250') === true
      if (!isAccepted) await sleep(50)
    }
    accepted++
  }

  async function sendAll(): Promise<void> {
    const left = Array.from({ length: MAILS }, (_, n) => n)
    await sendUntilAccepted(left.pop() ?? 0)
    await Promise.all(
      Array.from({ length: SENDERS }, async () => {
        for (let n = left.shift(); n !== undefined; n = left.shift()) await sendUntilAccepted(n)
      }),
    )
  }

  async function countRows(where: string): Promise<number> {
    const { rows } = await testbed.system.db.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM received_emails WHERE ${where}`,
    )
    return rows[0]?.n ?? 0
  }

  const hasClaims = async (): Promise<boolean> =>
    (await countRows(`state = 'received' AND tries > 0 AND due_at > now()`)) > 0

  async function isWaitingForLock(): Promise<boolean> {
    const { rows } = await testbed.system.db.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    return rows.length > 0
  }

  /** Kills the inbound process at any moment while it parses, stores and forwards mail. */
  async function killWithClaims(): Promise<void> {
    const { inbound } = testbed.system.roles
    await until(
      async () => {
        await sleep(Math.random() * MOST_PAUSE_MS)
        inbound.pause()
        if (await hasClaims()) return true
        inbound.resume()
        return false
      },
      () => 'it never has claimed mail',
    )
    await inbound.kill()
  }

  /** Kills it while the transaction that forwards mail waits for its last statements. */
  async function killInTransaction(): Promise<void> {
    await testbed.system.db.transaction(async (tx) => {
      await tx.query('LOCK TABLE messages IN SHARE ROW EXCLUSIVE MODE')
      await until(isWaitingForLock, () => 'nothing is forwarded')
      await testbed.system.roles.inbound.kill()
    })
  }

  /** Claims of a killed process last for two minutes, and a mail that kills three of them is not parsed again. */
  async function startAgain(): Promise<void> {
    await testbed.system.roles.inbound.start()
    await testbed.system.db.query(
      `UPDATE received_emails SET due_at = now(), tries = 0 WHERE state = 'received' AND due_at > now()`,
    )
  }

  it('each accepted mail is forwarded, and only those that were sent again arrive twice', async () => {
    const { system } = testbed
    const sending = sendAll()
    for (const [share, kill] of [
      [0.1, killWithClaims],
      [0.25, killInTransaction],
      [0.35, killWithClaims],
      [0.5, () => system.roles.worker.kill().then(killWithClaims)],
      [0.6, killWithClaims],
      [0.7, killInTransaction],
      [0.8, killWithClaims],
    ] as const) {
      await until(() => accepted >= MAILS * share)
      await kill()
      await startAgain()
    }
    await system.startMissing()
    await sending
    await until(
      async () => (await countRows(`state = 'received'`)) === 0,
      () => 'received mail is not processed',
    )
    await waitUntilDrained(system, PATIENCE_MS)

    const arrived = new Map<number, number>()
    for (const { bytes } of home.messages) {
      const n = Number(/^X-Mail: (\d+)\r$/m.exec(bytes.toString('latin1'))?.[1])
      arrived.set(n, (arrived.get(n) ?? 0) + 1)
    }
    const all = [...sent.keys()]
    assert.lengthOf(all, MAILS)
    assert.deepEqual(
      all.filter((n) => !arrived.has(n)),
      [],
      'lost',
    )
    assert.deepEqual(
      all.filter((n) => (arrived.get(n) ?? 0) > (sent.get(n) ?? 0)),
      [],
      'forwarded more often than sent',
    )
    assert.isAtMost(all.filter((n) => sent.get(n) !== 1).length, KILLS * SENDERS, 'most were sent once')
    // each mail that was stored became one message
    assert.strictEqual(await countRows(`forward_result IS DISTINCT FROM 'forwarded'`), 0)
    assert.strictEqual(await countRows('true'), home.messages.length)
  })
})
