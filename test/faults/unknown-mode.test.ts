/**
 * The roles of a live installation are started without MODE while the database is not migrated: whether they would be
 * a sandbox by accident is known only later. They wait, do nothing with the queued mail, and end with the reason.
 */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { printLogsOnFailure, startSystem, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const REFUSAL = /This installation is live, but MODE is not set/
const ROLES = ['mta', 'worker', 'api'] as const

describe('a start without MODE while the database is not migrated', () => {
  let system: System
  before(async () => {
    system = await startSystem({ env: { MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.sender.example' } })
    await Promise.all([system.roles.mta.stop(), system.roles.worker.stop()])
  })
  after(() => system.stop())
  printLogsOnFailure(() => system)

  it('ends when the database is migrated, and turns out to be live; queued mail stays queued', async () => {
    const { roles, db } = system
    const mail = { from: 'a@sender.example', to: 'b@receiver.example', subject: 'S', body: 'B' }
    assert.isBelow((await system.call('POST', '/send-email/instant', { body: mail })).status, 300)
    await roles.api.stop()
    await db.query('ALTER TABLE installation_mode RENAME TO later')
    const starts = ROLES.map((role) =>
      roles[role].start({ MODE: '' }).then(
        () => 'started',
        (error: unknown) => String(error),
      ),
    )
    const logOf = (role: (typeof ROLES)[number]): string => readFileSync(roles[role].logFile, 'utf8')
    await until(
      () => Promise.resolve(ROLES.every((role) => logOf(role).includes('MODE was not checked'))),
      () => 'a role does not wait for the mode',
    )
    await db.query('ALTER TABLE later RENAME TO installation_mode')
    const [mta] = await Promise.all(starts)
    assert.match(mta ?? '', REFUSAL)
    await until(
      () => Promise.resolve(ROLES.every((role) => !roles[role].isRunning)),
      () => `these still run: ${ROLES.filter((role) => roles[role].isRunning).join()}`,
    )
    for (const role of ROLES) assert.match(logOf(role), REFUSAL, role)
    const { rows } = await db.query<{ state: string; attempts: number }>(
      'SELECT state, (SELECT count(*)::int FROM attempts) AS attempts FROM recipients',
    )
    assert.deepEqual(rows, [{ state: 'queued', attempts: 0 }])
    assert.deepEqual((await db.query('SELECT mode FROM installation_mode')).rows, [{ mode: 'live' }])
  })
})
