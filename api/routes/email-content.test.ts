/** What a workspace sees of and may do with its messages: content, source, attempts, retry, cancel, send again. */
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { createKey } from '#src/auth/keys.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { dialogLines } from './smtp-dialog.ts'

const DIALOG = [
  '-- connected to mx.people.example [192.0.2.1]:25',
  'S: 220 mx.people.example ESMTP',
  'C: EHLO out1.example.net',
  'S: 250-mx.people.example',
  'STARTTLS',
  '-- TLSv1.3 TLS_AES_256_GCM_SHA384',
  'C: AUTH PLAIN (hidden)',
  '',
].join('\n')

describe('smtp dialogs', () => {
  it('have a speaker for each line, and join what continues a line', () =>
    assert.deepEqual(
      dialogLines(DIALOG).map(({ by, text }) => [by, text]),
      [
        ['note', 'connected to mx.people.example [192.0.2.1]:25'],
        ['server', '220 mx.people.example ESMTP'],
        ['client', 'EHLO out1.example.net'],
        ['server', '250-mx.people.example\nSTARTTLS'],
        ['note', 'TLSv1.3 TLS_AES_256_GCM_SHA384'],
        ['client', 'AUTH PLAIN (hidden)'],
      ],
    ))
  it('may be empty or begin with anything', () => {
    assert.deepEqual(dialogLines(''), [])
    assert.deepEqual(dialogLines('x'), [{ by: 'note', text: 'x' }])
  })
})

describe('the content of a message', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const asAdmin = (method: string, path: string, body?: unknown, headers = {}): Promise<TestResponse> =>
    api.call(method, path, { key: api.admin, ...(body === undefined ? {} : { body }), headers })
  async function send(fields: object = {}): Promise<string> {
    const mail = { from: `Shop <me@${api.domain}>`, to: 'ann@people.example', subject: 'Grüße', ...fields }
    const sent = await api.call('POST', '/send-email/async', { body: { body: '<p>Hello <b>Ann</b></p>', ...mail } })
    assert.strictEqual(sent.status, 200, JSON.stringify(sent.body))
    return textOf(sent.body['email_id'])
  }
  const uuidOf = (email: string): string => messageIdOf(email) ?? ''
  async function setState(email: string, state: string): Promise<void> {
    await api.db.query('UPDATE recipients SET state = $2, is_open = $3 WHERE message_id = $1', [
      uuidOf(email),
      state,
      ['queued', 'deferred', 'scheduled', 'sending'].includes(state),
    ])
  }

  it('has header fields, texts and attachments', async () => {
    const files = [{ filename: 'a.txt', content: Buffer.from('abc').toString('base64') }]
    const email = await send({ attachments: files, headers: { 'X-Order': '17' }, cc: 'bob@people.example' })
    const { status, body } = await asAdmin('GET', `/public/emails/${email}/content`)
    assert.strictEqual(status, 200)
    const { data } = body
    const value = (name: string): unknown =>
      listOf(data?.['headers']).find((one) => textOf(one['name']) === name)?.['value']
    assert.deepEqual([value('Subject'), value('X-Order'), value('Cc')], ['Grüße', '17', 'bob@people.example'])
    assert.deepEqual([data?.['html'], data?.['origin']] as unknown[], ['<p>Hello <b>Ann</b></p>', 'fields'])
    assert.deepEqual(data?.['attachments'], [{ filename: 'a.txt', content_type: 'text/plain', size: 3 }] as unknown)
  })

  it('never has Bcc', async () => {
    const email = await send({ bcc: 'secret@people.example' })
    const { body } = await asAdmin('GET', `/public/emails/${email}/content`)
    const source = await asAdmin('GET', `/public/emails/${email}/source`)
    assert.notMatch(JSON.stringify(body) + textOf(source.body), /secret@/)
  })

  it('downloads as it goes over the wire, as a file that no browser shows', async () => {
    const email = await send()
    const { status, body, headers } = await asAdmin('GET', `/public/emails/${email}/source`)
    assert.strictEqual(status, 200)
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="em_[0-9a-f]{32}\.eml"$/)
    assert.strictEqual(headers.get('content-type'), 'message/rfc822')
    const parsed = await simpleParser(textOf(body))
    assert.deepEqual([parsed.subject, parsed.from?.text], ['Grüße', `"Shop" <me@${api.domain}>`])
  })

  it('of a complete message is the message itself', async () => {
    const raw = `From: me@${api.domain}\r\nTo: ann@people.example\r\nSubject: Raw\r\nX-Odd:  a\r\n b\r\n\r\nHello\r\n`
    const sent = await api.call('POST', '/send-email/raw', { body: { raw: Buffer.from(raw).toString('base64') } })
    const email = textOf(sent.body['email_id'])
    const source = await asAdmin('GET', `/public/emails/${email}/source`)
    assert.include(textOf(source.body), 'X-Odd:  a\r\n b\r\n')
    const { body } = await asAdmin('GET', `/public/emails/${email}/content`)
    assert.deepEqual([body['data']?.['origin'], textOf(body['data']?.['text']).trim()] as unknown[], [
      'complete',
      'Hello',
    ])
  })

  it('is refused after it was deleted, to Regular keys, and without the scope', async () => {
    const email = await send()
    const paths = ['content', 'source', 'attempts'].map((part) => `/public/emails/${email}/${part}`)
    const weak = await createKey(api.db, {
      kind: 'admin',
      prefix: 'test',
      workspaceId: api.workspaceId,
      name: 'weak',
      scopes: ['contacts:read'],
    })
    assert.ok(weak.kind === 'created')
    for (const path of paths) {
      assert.strictEqual((await api.call('GET', path)).body['error'] as unknown, 'FORBIDDEN')
      const refused = await api.call('GET', path, { key: weak.secretKey })
      assert.strictEqual(refused.body['error'] as unknown, 'INSUFFICIENT_SCOPE')
    }
    await api.db.query('UPDATE messages SET html = NULL, body_text = NULL WHERE id = $1', [uuidOf(email)])
    await api.db.query('DELETE FROM message_bodies WHERE message_id = $1', [uuidOf(email)])
    for (const path of paths.slice(0, 2)) assert.strictEqual((await asAdmin('GET', path)).status, 409)
    const again = await asAdmin('POST', `/public/emails/${email}/resend`, {})
    assert.deepEqual([again.status, again.body['error']] as unknown[], [409, 'CONFLICT'])
    for (const name of ['nothing', 'em_00', '%00', "'"])
      assert.include([400, 404], (await asAdmin('GET', `/public/emails/${name}/content`)).status, name)
  })

  it('is cut in the response when it is long', async () => {
    const email = await send({ body: 'x'.repeat(600_000) })
    const { body } = await asAdmin('GET', `/public/emails/${email}/content`)
    assert.deepEqual([textOf(body['data']?.['text']).length, body['data']?.['is_truncated']] as unknown[], [
      500_000,
      true,
    ])
  })

  it('has each attempt with its route and dialog', async () => {
    const email = await send()
    await api.db.query(
      sql`
        INSERT INTO attempts (
          message_id, n, attempt, at, outcome, host, address, source, tls, duration_ms, conversation
        )
        VALUES ($1, 0, 1, now(), 'deferred', 'mx.people.example', '192.0.2.1', 'out1', 'TLSv1.3', 12, $2)
      `,
      [uuidOf(email), DIALOG],
    )
    const { body } = await asAdmin('GET', `/public/emails/${email}/attempts`)
    const [attempt] = listOf(body['data']?.['attempts'])
    assert.deepEqual(attempt?.['route'], {
      host: 'mx.people.example',
      address: '192.0.2.1',
      source: 'out1',
      tls: 'TLSv1.3',
    } as unknown)
    assert.strictEqual(listOf(attempt?.['dialog']).length, 6)
    assert.deepEqual([attempt?.['recipient'], attempt?.['attempt']] as unknown[], ['ann@people.example', 1])
  })

  it('retries what waits, with an entry in the audit log, and not what is being sent', async () => {
    const email = await send()
    await api.db.query(
      `UPDATE recipients SET state = 'deferred', due_at = now() + interval '1 hour' WHERE message_id = $1`,
      [uuidOf(email)],
    )
    const { status, body } = await asAdmin('POST', `/public/emails/${email}/retry`)
    assert.deepEqual([status, body['data']] as unknown[], [200, { email_id: email, changed: 1, unchanged: 0 }])
    const { rows } = await api.db.query<{ state: string; isDue: boolean }>(
      `SELECT state, due_at <= now() + interval '1 second' AS "isDue" FROM recipients WHERE message_id = $1`,
      [uuidOf(email)],
    )
    assert.deepEqual(rows, [{ state: 'queued', isDue: true }])
    const log = await asAdmin('GET', `/public/audit-log?object_id=${email}`)
    assert.deepEqual(
      listOf(log.body['data']?.['entries']).map((entry) => [entry['action'], entry['after']]) as unknown[],
      [['retry-email', { retry: 1 }]],
    )
    await setState(email, 'sending')
    for (const verb of ['retry', 'cancel'])
      assert.strictEqual((await asAdmin('POST', `/public/emails/${email}/${verb}`)).status, 409)
  })

  it('does not let a loop of retries replace the schedule', async () => {
    const email = await send()
    const statuses = []
    for (let i = 0; i < 11; i++) statuses.push((await asAdmin('POST', `/public/emails/${email}/retry`)).status)
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429])
  })

  it('cancels what was not sent, with an event, once', async () => {
    const email = await send({ cc: 'bob@people.example' })
    await api.db.query(`UPDATE recipients SET state = 'delivered', is_open = false WHERE message_id = $1 AND n = 0`, [
      uuidOf(email),
    ])
    const { body } = await asAdmin('POST', `/public/emails/${email}/cancel`)
    assert.deepEqual(body['data'], { email_id: email, changed: 1, unchanged: 1 } as unknown)
    const shown = await asAdmin('GET', `/public/emails/get-email/${email}`)
    assert.deepEqual(listOf(shown.body['data']?.['recipients']).map(({ state }) => state) as unknown[], [
      'delivered',
      'cancelled',
    ])
    assert.strictEqual((await asAdmin('POST', `/public/emails/${email}/cancel`)).status, 409)
  })

  it('sends the same content again, to all or some recipients', async () => {
    const email = await send({ cc: 'bob@people.example', tags: ['order'], headers: { 'X-Order': '17' } })
    const all = await asAdmin('POST', `/public/emails/${email}/resend`, {})
    assert.strictEqual(all.status, 200, JSON.stringify(all.body))
    assert.notStrictEqual(textOf(all.body['email_id']), email)
    const some = await asAdmin('POST', `/public/emails/${email}/resend`, { to: ['BOB@people.example'] })
    const shown = await asAdmin('GET', `/public/emails/get-email/${textOf(some.body['email_id'])}`)
    assert.deepEqual(listOf(shown.body['data']?.['recipients']).map(({ address }) => address) as unknown[], [
      'bob@people.example',
    ])
    const content = await asAdmin('GET', `/public/emails/${textOf(all.body['email_id'])}/content`)
    assert.match(JSON.stringify(content.body), /X-Order.*17/)
    const foreign = await asAdmin('POST', `/public/emails/${email}/resend`, { to: ['eve@elsewhere.example'] })
    assert.strictEqual(foreign.status, 400)
  })

  it('sends again once for one Idempotency-Key, and not from a domain that may not send', async () => {
    const email = await send()
    const twice = [1, 2].map(() =>
      asAdmin('POST', `/public/emails/${email}/resend`, {}, { 'idempotency-key': 'again' }),
    )
    const [first, second] = await Promise.all(twice)
    const ids = [first, second].filter((one) => one?.status === 200).map((one) => textOf(one?.body['email_id']))
    assert.strictEqual(new Set(ids).size, 1)
    const other = await api.addTenant()
    const sent = await api.call('POST', '/send-email/async', {
      key: other.regular,
      body: { from: `me@${other.domain}`, to: 'ann@people.example', subject: 's', body: 'x' },
    })
    await api.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [other.domainId])
    const refused = await api.call('POST', `/public/emails/${textOf(sent.body['email_id'])}/resend`, {
      key: other.admin,
      body: {},
    })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [409, 'CONFLICT'])
  })
})
