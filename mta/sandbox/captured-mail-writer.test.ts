import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { listInbox, type ReceivedMail } from '#src/sandbox/inbox.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { createCapturedMailWriter } from './captured-mail-writer.ts'

const MEGABYTE = 1024 * 1024

describe('the writer of captured mail', () => {
  let database: TestDatabase
  let db: Db
  let statements: number
  let failure: Error | null
  let octets: number
  const counted = {
    query: ((statement, values) => {
      statements++
      octets += (values ?? []).reduce<number>((sum, value) => sum + (Buffer.isBuffer(value) ? value.length : 0), 0)
      if (failure !== null) throw failure
      return db.query(statement, values)
    }) as Db['query'],
  }
  before(async () => {
    database = await createDatabase()
    db = openDb(database.url, openLog({ logLevel: 'silent' }, 'test'))
  })
  beforeEach(async () => {
    await db.query('TRUNCATE sandbox_inbox')
    statements = 0
    octets = 0
    failure = null
  })
  after(async () => {
    await db.close()
    await database.drop()
  })

  it('stores mails that arrive together in one statement, each for its recipients', async () => {
    const writer = createCapturedMailWriter(counted)
    const names = Array.from({ length: 50 }, (_, i) => `mail ${i}`)
    const ids = await Promise.all(names.map((name) => writer.store(mail(name))))
    assert.strictEqual(statements, 1)
    const stored = await listInbox(db, 1000)
    const byId = new Map(stored.map(({ id, subject, rcptTo }) => [id, `${subject} to ${rcptTo}`]))
    const expected = names.map((name) => ['ann', 'bob'].map((user) => `${name} to ${user}@a.test`))
    assert.deepEqual(
      ids.map((ofMail) => ofMail.map((id) => byId.get(id))),
      expected,
    )
    assert.lengthOf(stored, 100)
  })

  it('fails only the mail with a value that PostgreSQL refuses', async () => {
    const writer = createCapturedMailWriter(counted)
    const results = await Promise.allSettled(['one', 'a NUL \0', 'three'].map((name) => writer.store(mail(name))))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    const stored = await listInbox(db, 10)
    assert.sameMembers([...new Set(stored.map(({ subject }) => subject))], ['one', 'three'])
  })

  it('fails all mails at once while PostgreSQL is unavailable, and stores later ones', async () => {
    const writer = createCapturedMailWriter(counted)
    failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const results = await Promise.allSettled(['one', 'two', 'three'].map((name) => writer.store(mail(name))))
    assert.deepEqual(
      results.map((result) => (result.status === 'rejected' ? result.reason : null)),
      [failure, failure, failure],
    )
    assert.strictEqual(statements, 1)
    failure = null
    assert.lengthOf(await writer.store(mail('later')), 2)
  })

  it('passes a mail to PostgreSQL once, whatever the number of its recipients', async () => {
    const writer = createCapturedMailWriter(counted)
    const recipients = Array.from({ length: 100 }, (_, i) => `user-${i}@a.test`)
    const raw = Buffer.alloc(3 * MEGABYTE, 'x')
    const large = { ...mail('large'), mail: { ...mail('large').mail, raw }, recipients }
    const [ids] = await Promise.all([writer.store(large), writer.store(mail('small'))])
    assert.isBelow(octets, 4 * MEGABYTE)
    const stored = new Map((await listInbox(db, 1000)).map(({ id, rcptTo, subject }) => [id, `${rcptTo} ${subject}`]))
    assert.deepEqual(
      ids.map((id) => stored.get(id)),
      recipients.map((recipient) => `${recipient} large`),
    )
    assert.strictEqual(stored.size, 102)
  })

  it('limits the octets of a statement', async () => {
    const writer = createCapturedMailWriter(counted)
    const large = { ...mail('large').mail, raw: Buffer.alloc(3 * MEGABYTE) }
    const received = Array.from({ length: 4 }, () => ({ ...mail('large'), mail: large, recipients: ['ann@a.test'] }))
    await Promise.all([...received.map((one) => writer.store(one)), writer.drain()])
    assert.strictEqual(statements, 2)
    assert.lengthOf(await listInbox(db, 10), 4)
  })
})

function mail(subject: string): ReceivedMail {
  const found = { mailFrom: 'sender@b.test', headerFrom: null, messageId: null, tls: null, dkim: [] }
  return {
    mail: { ...found, subject, raw: Buffer.from(`Subject: ${subject}\r\n\r\n`) },
    recipients: ['ann@a.test', 'bob@a.test'],
    at: new Date(),
  }
}
