/**
 * The drill of docs/guides/backup.md with a PostgreSQL that archives its WAL: a base backup, mail that is sent and
 * accepted after a point in time, and the recovery to that point while the receiver and all stores and processes but
 * the outbound one run. What was sent is not sent again, and what is lost is named.
 */
import { assert } from 'chai'
import { run as runLostMail } from '#bin/commands/lost-mail.ts'
import { run as runQueue } from '#bin/commands/queue.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { listSuspensions } from '#src/queue/suspensions.ts'
import { runCommand, type CommandMain } from '#test/support/command.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { printLogsOnFailure, startSystem, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import { archiveWal } from '#test/support/wal-archive.ts'

const MAILS = 4

interface LostMail {
  readonly lost: readonly { readonly message_id: string; readonly recipient: string; readonly outcome: string | null }[]
  readonly sent: readonly { readonly message_id: string }[]
  readonly settled: number | null
}

describe('recovery to a point in time', () => {
  let mx: Receiver
  let system: System
  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)

  const send = async (subject: string): Promise<string> => {
    const call = { body: { from: `shop@${system.domain}`, to: `${subject}@receiver.example`, subject, text: 'x' } }
    const { status, body } = await system.call('POST', '/send-email/async', call)
    assert.strictEqual(status, 200, JSON.stringify(body))
    return messageIdOf(body['email_id'] as unknown as string) ?? ''
  }
  const sendAll = async (name: string): Promise<string[]> => {
    const ids: string[] = []
    for (let i = 0; i < MAILS; i++) ids.push(await send(`${name}-${i}`))
    return ids
  }
  const command = async (run: CommandMain, args: string[]): Promise<string> => {
    const { config } = system
    const env = { DATABASE_URL: config.databaseUrl ?? '', REDIS_URL: config.redisUrl ?? '', DATA_DIR: config.dataDir }
    const { code, out, err } = await runCommand(run, args, { ...env, MASTER_KEY: '5a'.repeat(32) })
    assert.strictEqual(code, 0, err)
    return out
  }
  const subjects = (name: string): string[] =>
    mx.messages
      .map(({ bytes }) => /^Subject: (\S+)/m.exec(bytes.toString())?.[1] ?? '')
      .filter((one) => one.startsWith(name))
  const eventually = (check: () => Promise<boolean>): Promise<void> => until(() => check().catch(() => false))
  const beats = async (): Promise<number> =>
    Number((await system.db.query<{ counter: number }>('SELECT counter FROM restore_fence')).rows[0]?.counter)

  it('sends nothing again and names what is lost', async () => {
    const wal = await archiveWal(system.postgres)
    await eventually(async () => (await system.db.query('SELECT 1')).rowCount === 1)
    await wal.backUp()
    await system.roles.mta.stop()
    const waiting = await sendAll('sent')
    const point = await wal.now()
    const before = await beats()
    await until(async () => (await beats()) > before + 1)
    await system.roles.mta.start()
    const lostSent = await sendAll('gone')
    await mx.until(2 * MAILS)
    await eventually(
      async () => (await system.db.query(`SELECT 1 FROM recipients WHERE state = 'delivered'`)).rowCount === 2 * MAILS,
    )
    await system.roles.mta.stop()
    const lostWaiting = await sendAll('never')

    await wal.recoverTo(point)
    await eventually(async () => (await listSuspensions(system.db)).some(({ subject }) => subject === '*'))
    await eventually(async () => (await system.db.query('SELECT 1 FROM lost_mail')).rowCount === MAILS)
    await system.startMissing()

    const found = JSON.parse(await command(runLostMail, [system.roles.mta.logFile, '--json', '--yes'])) as LostMail
    const lost = new Map(found.lost.map((one) => [one.message_id, one]))
    assert.sameMembers([...lost.keys()], [...lostSent, ...lostWaiting])
    assert.deepEqual(
      lostSent.map((id) => [lost.get(id)?.recipient, lost.get(id)?.outcome]),
      lostSent.map((_, i) => [`gone-${i}@receiver.example`, 'deliver']),
    )
    assert.ok(lostWaiting.every((id) => lost.get(id)?.recipient === '@receiver.example' && !lost.get(id)?.outcome))
    assert.sameMembers(
      found.sent.map(({ message_id }) => message_id),
      waiting,
    )
    assert.strictEqual(found.settled, MAILS)

    await command(runQueue, ['resume', '*'])
    await send('after-0')
    await until(() => subjects('after').length === 1)
    assert.deepEqual(subjects('sent').toSorted(), ['sent-0', 'sent-1', 'sent-2', 'sent-3'])
    assert.strictEqual(subjects('gone').length, MAILS)
    assert.strictEqual(subjects('never').length, 0)
    await eventually(async () => (await system.db.query(`SELECT 1 FROM recipients WHERE is_open`)).rowCount === 0)
  })
})
