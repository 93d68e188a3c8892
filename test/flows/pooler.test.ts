/**
 * Mailstead behind PgBouncer in session mode, as Debian installs it: mail is accepted and delivered, changes are
 * notified, and the result of a delivery is written also if the pooler loses its connections to PostgreSQL.
 */
import { assert } from 'chai'
import { listenForNotifications } from '#src/auth/notification-listener.ts'
import { openLog } from '#src/platform/log.ts'
import { findPgBouncer, startPgBouncer } from '#test/support/pgbouncer.ts'
import type { TestPooler } from '#test/support/pooler.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const LOCK = 4711
/** The result of a delivery waits for the lock, in the transaction that writes it. */
const HOLD_RESULTS = `
  CREATE FUNCTION hold_result() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(${LOCK});
    RETURN NEW;
  END $$;
  CREATE TRIGGER hold_result BEFORE UPDATE ON recipients
  FOR EACH ROW WHEN (NEW.state = 'delivered') EXECUTE FUNCTION hold_result()
`
const WAITING = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted`

describe('PgBouncer in session mode', () => {
  let testbed: Testbed
  let pooler: TestPooler
  before(async function () {
    if (findPgBouncer() === null) this.skip()
    testbed = await startTestbed(
      {},
      {
        openPooler: async (databaseUrl) => {
          pooler = await startPgBouncer(databaseUrl, { poolMode: 'session', ignoresOptions: true })
          return pooler
        },
      },
    )
  })
  after(() => testbed?.stop())
  printLogsOnFailure(() => testbed.system)

  it('accepts and delivers', async () => {
    const receiver = await testbed.addReceiver('pooled.example')
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, i) => testbed.send({ to: `r${i}@pooled.example`, tier: 'normal' })),
    )
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.lengthOf(receiver.messages, ids.length)
  })

  it('notifies of changes', async () => {
    let changes = 0
    const listener = listenForNotifications({
      url: pooler.url,
      channel: 'test_channel',
      log: openLog({ logLevel: 'silent' }, 'test'),
      onChange: () => changes++,
    })
    try {
      await until(() => changes === 1)
      await testbed.system.db.query('NOTIFY test_channel')
      await until(() => changes === 2)
    } finally {
      await listener.stop()
    }
  })

  it('the result of a delivery is written although its transaction is lost again and again', async () => {
    const receiver = await testbed.addReceiver('lost.example')
    await testbed.system.db.transaction(async (tx) => {
      await tx.query(HOLD_RESULTS)
    })
    let id = ''
    const terminated = new Set<number>()
    await testbed.system.db.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
      id = await testbed.send({ to: 'ann@lost.example' })
      await receiver.until(1)
      while (terminated.size < 3)
        await until(async () => {
          const { rows } = await tx.query<{ pid: number }>(WAITING)
          for (const { pid } of rows) {
            await tx.query('SELECT pg_terminate_backend($1)', [pid])
            terminated.add(pid)
          }
          return rows.length > 0
        })
    })
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.lengthOf(receiver.messages, 1, 'sent once')
  })
})
