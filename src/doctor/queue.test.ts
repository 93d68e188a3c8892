/** The age of the queue and of what is stored, on a real database. */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { newId } from '#src/platform/id.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { createSender } from '#test/support/sender.ts'
import type { DoctorFinding, DoctorCheck } from './check.ts'
import { QUEUE_AGE, RETENTION } from './queue.ts'

const DAY_MS = 86_400_000

describe('doctor: the age of mail', () => {
  let database: OpenDatabase
  beforeEach(async () => {
    database = await openDatabase()
  })
  afterEach(() => database.close())

  const check = (one: DoctorCheck): Promise<DoctorFinding> =>
    one.run({ config: loadConfig({}), db: database.db, databaseError: '', redisUrl: null })

  async function queue(tier: string, dueForSeconds: number): Promise<void> {
    const { db } = database
    const sender = await createSender(
      { db, encryption: createEncryption(Buffer.alloc(32, 7)), keyPrefix: 'ms' },
      { domain: `${newId()}.example` },
    )
    await db.query(
      sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, sequence,
          updated_at
        )
        VALUES (
          $1, 0, $2, $3, 'to', 'a@b.example', 'b.example', 'queued', true, now() - make_interval(secs => $4), true, 1,
          now()
        )
      `,
      [newId(), sender.workspaceId, tier, dueForSeconds],
    )
  }

  const CASES: readonly (readonly [tier: string, dueForSeconds: number, status: string, says: RegExp])[] = [
    ['instant', 5, 'ok', /no mail is late/],
    ['instant', 90, 'warning', /^instant mail has been due for \d+ s$/],
    ['instant', 3600, 'failed', /^instant mail has been due for \d+ minutes$/],
    ['bulk', 3600, 'ok', /no mail is late/],
    ['bulk', 2 * 86_400, 'warning', /^bulk mail has been due for \d+ hours$/],
    ['bulk', -3600, 'ok', /no mail is late/],
  ]
  for (const [tier, dueForSeconds, status, says] of CASES) {
    it(`${tier} mail due for ${dueForSeconds} s: ${status}`, async () => {
      await queue(tier, dueForSeconds)
      const found = await check(QUEUE_AGE)
      assert.strictEqual(found.status, status)
      assert.match(found.detail, says)
    })
  }

  it('reports the oldest partition, and one that retention should have removed', async () => {
    assert.match((await check(RETENTION)).detail, /^the oldest partition of messages begins \d{4}-\d\d-\d\d$/)
    await ensurePartitions((statement) => database.db.query(statement), Date.now() - 500 * DAY_MS)
    const old = await check(RETENTION)
    assert.strictEqual(old.status, 'warning')
    assert.match(old.detail, /^partition (?:attachments|message_bodies)_\d{8} should have been deleted \d+ days ago; /)
    assert.match(old.detail, /partition messages_\d{8} should have been deleted \d+ days ago$/)
  })
})
