/**
 * Mail to addresses of a customer's domain: by SMTP to the inbound port, through the store and the parser, to a signed
 * webhook.
 */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { type Inbound, startInbound } from '#mta/inbound/inbound.ts'
import { sql } from '#src/stores/sql.ts'
import { createEndpoint, notifySender } from '#src/webhooks/endpoints.ts'
import { createHousekeepingRound } from '#worker/housekeeping.ts'
import { startWebhooks } from '#worker/webhooks.ts'
import type { Loop } from '#worker/loop.ts'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { connectSmtp, submitMessage } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { respondWith, startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'

const KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const HEAD = ['From: Ann <ann@friend.example>', 'To: support@x.example', 'Date: Thu, 1 Jan 2026 10:00:00 +0000']
const MAIL = [
  ...HEAD,
  'Message-ID: <1@friend.example>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Hello',
  '--b',
  'Content-Type: application/pdf',
  "Content-Disposition: attachment; filename*=utf-8''%E2%82%AC.pdf",
  'Content-Transfer-Encoding: base64',
  '',
  'JVBERi0=',
  '--b--',
  '',
].join('\r\n')

describe('mail to inbound routes', () => {
  let dns: TestDns
  let ctx: TestContext
  let api: TestApi
  let inbound: Inbound
  let receiver: WebhookReceiver
  let webhooks: Loop
  let secret: string
  before(async () => {
    dns = await startDns({
      's1._domainkey.friend.example': { TXT: [`v=DKIM1; k=rsa; p=${KEYS.publicKey.toString('base64')}`] },
      'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
      '_dmarc.friend.example': { TXT: ['v=DMARC1; p=reject'] },
      '_dmarc.bank.example': { TXT: ['v=DMARC1; p=reject'] },
    })
    ctx = await createContext({
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
      INBOUND_PORT: '0',
      DNS_SERVERS: dns.server,
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      INBOUND_MAX_MESSAGE_BYTES: '300000',
      INBOUND_DAILY_EMAILS: '200',
    })
    api = await startApi({ MASTER_KEY: '07'.repeat(32) }, ctx.databaseUrl)
    inbound = await startInbound(ctx)
    receiver = await startWebhookReceiver()
    webhooks = startWebhooks(ctx, ctx.redisUrl)
    const made = await createEndpoint(ctx, api.workspaceId, {
      url: receiver.url,
      description: null,
      eventTypes: ['email.received'],
    })
    secret = made?.secret ?? ''
  })
  after(async () => {
    await Promise.all([webhooks.stop(), inbound.stop()])
    await Promise.all([api.stop(), receiver.close()])
    await Promise.all([ctx.close(), dns.stop()])
  })

  const call = async (method: string, path: string, body?: unknown, key = api.admin): Promise<Json> => {
    const response = await api.call(method, path, { key, ...(body === undefined ? {} : { body }) })
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`)
    return response.body
  }
  const createRoute = async (local: string, action = 'webhook', priority = 0): Promise<string> => {
    const body = { address: `${local}@${api.domain}`, action, priority }
    const created = await call('POST', '/public/inbound/routes', body)
    await untilRcpt(local.replace('*', 'x'), /^250 /)
    return textOf(created['data']?.['id'])
  }
  /** The port knows the routes of a domain for half a second. */
  async function untilRcpt(local: string, reply: RegExp): Promise<void> {
    const connection = await connectSmtp(inbound.port)
    await connection.command('EHLO client.test')
    let last = ''
    await until(
      async () => {
        await connection.command('RSET')
        await connection.command('MAIL FROM:<a@b.example>')
        last = await connection.command(`RCPT TO:<${local}@${api.domain}>`)
        return reply.test(last)
      },
      () => `it answers ${last}`,
    )
    connection.disconnect()
  }
  const send = async (local: string, content: string | Buffer = MAIL, from = 'ann@friend.example'): Promise<string> =>
    (await submitMessage(inbound.port, { from, to: `${local}@${api.domain}`, content })).at(-1) ?? ''
  async function nextWebhook(count = receiver.requests.length + 1): Promise<Json> {
    const requests = await receiver.received(count)
    const request = requests[count - 1]
    assert.ok(request !== undefined)
    const { body, headers } = request
    const digest = createHmac('sha256', secret).update(body).digest('hex')
    assert.equal(headers['x-webhook-signature'], `sha256=${digest}`)
    return JSON.parse(body) as Json
  }

  it('arrives as a signed webhook with its parts, its files and the results of its checks', async () => {
    await createRoute('support')
    const signer = { signingDomain: 'friend.example', selector: 's1', privateKey: KEYS.privateKey }
    const { signatures } = await dkimSign(MAIL, { ...signer, signatureData: [signer] })
    assert.match(await send('support+vip', signatures + MAIL), /^250 2\.6\.0 /)
    const event = await nextWebhook()
    assert.equal(textOf(event['type']), 'email.received')
    assert.equal(textOf(event['recipient']), `support+vip@${api.domain}`)
    assert.equal(textOf(event['subject']), 'Grüße')
    const data = event['data'] as Json
    assert.deepEqual([data['from'], data['text'], data['tag'], data['is_automatic']], [
      { address: 'ann@friend.example', name: 'Ann' },
      'Hello',
      'vip',
      false,
    ] as never)
    assert.deepEqual(data['authentication'], {
      spf: { result: 'pass', domain: 'friend.example' },
      dkim: [{ result: 'pass', domain: 'friend.example', selector: 's1', is_aligned: true }],
      dmarc: { result: 'pass', domain: 'friend.example', policy: 'reject' },
      arc: { result: 'none', domain: null },
    } as never)
    assert.equal(textOf(data['spam']?.['verdict']), 'clean')
    const [file] = listOf(data['attachments'])
    assert.deepEqual([file?.['filename'], file?.['content_base64']], ['€.pdf', 'JVBERi0='] as never)
    for (const [link, content] of [
      [file?.['url'], '%PDF-'],
      [data['source_url'], signatures + MAIL],
    ] as const) {
      const response = await fetch(`${api.url}${new URL(textOf(link)).pathname}`)
      assert.equal(response.status, 200)
      assert.match(response.headers.get('content-disposition') ?? '', /^attachment/)
      assert.equal((await response.text()).trimEnd(), content.trimEnd())
    }
  })

  it('a forged sender is spam, and the mail is listed by its verdict', async () => {
    const forged = MAIL.replace('ann@friend.example', 'boss@bank.example')
    await send('support', forged, 'x@evil.example')
    const event = await nextWebhook()
    assert.deepEqual([event['data']?.['spam']?.['verdict'], event['data']?.['spam']?.['reasons']], [
      'spam',
      ['dmarc-reject', 'no-authentication'],
    ] as never)
    const listed = await call('GET', '/public/inbound/emails?spam_verdict=spam')
    assert.deepEqual(
      listOf(listed['data']?.['emails']).map((email) => email['from_address']),
      ['boss@bank.example'] as never,
    )
  })

  it('an address without a route, or of a domain that is not verified, is refused at RCPT', async () => {
    const other = await api.addTenant({ domain: 'unverified.example', status: 'pending' })
    const refused = await api.call('POST', '/public/inbound/routes', {
      key: other.admin,
      body: { address: '*@unverified.example' },
    })
    assert.equal(refused.status, 400)
    const connection = await connectSmtp(inbound.port)
    await connection.command('EHLO client.test')
    await connection.command('MAIL FROM:<a@b.example>')
    for (const address of [`nobody@${api.domain}`, 'x@unverified.example', 'x@foreign.example'])
      assert.match(await connection.command(`RCPT TO:<${address}>`), /^550 5\.7\.1 /)
    connection.disconnect()
  })

  it('a new route of a higher priority comes first; stored mail has no event, dropped mail is not stored', async () => {
    const all = await createRoute('*', 'store', 10)
    const before = receiver.requests.length
    await untilRcpt('anything', /^250 /)
    await send('support')
    await until(
      async () =>
        listOf((await call('GET', `/public/inbound/emails?route_id=${all}`))['data']?.['emails']).length === 1,
      () => 'it is not stored',
    )
    await call('DELETE', `/public/inbound/routes/${all}`)
    await untilRcpt('anything', /^550 /)
    const dropping = await createRoute('dropped', 'drop')
    assert.match(await send('dropped'), /^250 /)
    const stored = await call('GET', `/public/inbound/emails?route_id=${dropping}`)
    assert.lengthOf(listOf(stored['data']?.['emails']), 0)
    assert.equal(receiver.requests.length, before)
  })

  it('is replayed to the endpoints of now, and its deletion deletes its files', async () => {
    await send('support')
    const data = (await nextWebhook())['data'] as Json
    const id = textOf(data['received_email_id'])
    const count = receiver.requests.length + 1
    await call('POST', `/public/inbound/emails/${id}/replay`)
    notifySender(ctx) // the api has a Redis of its own here
    const again = (await nextWebhook(count))['data'] as Json
    assert.deepEqual([again['is_replay'], again['text']], [true, 'Hello'] as never)
    await call('DELETE', `/public/inbound/emails/${id}`)
    for (const link of [data['source_url'], listOf(data['attachments'])[0]?.['url']])
      assert.equal((await fetch(`${api.url}${new URL(textOf(link)).pathname}`)).status, 404)
    assert.equal((await api.call('GET', `/public/inbound/emails/${id}`, { key: api.admin })).status, 404)
  })

  it('announces its size limit, and refuses more', async () => {
    const connection = await connectSmtp(inbound.port)
    assert.match(await connection.command('EHLO client.test'), /SIZE 300000/)
    assert.match(await connection.command('MAIL FROM:<a@b.example> SIZE=300001'), /^552 /)
    connection.disconnect()
    assert.match(await send('support', `${HEAD.join('\r\n')}\r\n\r\n${'x'.repeat(300_000)}`), /^552 5\.3\.4 /)
  })

  it('a mail that cannot be read is still delivered, with a link to its source', async () => {
    await ctx.db.query(`ALTER TABLE received_emails ALTER tries SET DEFAULT 3`)
    await send('support', 'hostile')
    await ctx.db.query(`ALTER TABLE received_emails ALTER tries SET DEFAULT 0`)
    const data = (await nextWebhook())['data'] as Json
    assert.deepEqual([data['is_unreadable'], data['text'], data['size']], [true, null, 9] as never)
  })

  it('a process that died with a claim leaves the mail to another one, and there is one event', async () => {
    await inbound.stop()
    const id = '01980000-0000-7000-8000-00000000abcd'
    await ctx.db.query(
      sql`
        INSERT INTO received_emails (
          id, workspace_id, route_id, action, recipient, mail_from, peer, helo, is_tls, size, raw, due_at, tries
        )
        VALUES ($1, $2, $1, 'webhook', 'a@b.example', '', '192.0.2.1', 'h', false, 5, 'hello', now(), 1)
      `,
      [id, api.workspaceId],
    )
    const [one, two] = await Promise.all([startInbound(ctx), startInbound(ctx)])
    inbound = one
    const event = await nextWebhook()
    assert.equal(textOf(event['data']?.['received_email_id']), id)
    await two.stop()
    const { rows } = await ctx.db.query(`SELECT FROM events WHERE data ->> 'received_email_id' = $1`, [id])
    assert.lengthOf(rows, 1)
  })

  it('while PostgreSQL refuses, the sender gets 451 and may come again', async () => {
    await ctx.db.query('ALTER TABLE received_emails RENAME TO away')
    try {
      assert.match(await send('support'), /^451 4\.3\.0 /)
    } finally {
      await ctx.db.query('ALTER TABLE away RENAME TO received_emails')
    }
    assert.match(await send('support'), /^250 /)
    await nextWebhook()
  })

  it('a workspace that has received its share gets no more today', async () => {
    await ctx.db.query('UPDATE inbound_usage SET emails = 200 WHERE workspace_id = $1', [api.workspaceId])
    await untilRcpt('support', /^452 4\.2\.2 /)
    assert.match(await send('support'), /^452 4\.2\.2 /)
    await ctx.db.query('UPDATE inbound_usage SET emails = 0')
  })

  it('is deleted when its time is over', async () => {
    receiver.setBehaviour(respondWith(500))
    const old = "id = overlay(id::text placing '00000000-0000' from 1 for 13)::uuid"
    await ctx.db.query(`UPDATE received_emails SET ${old} WHERE id = (SELECT min(id::text)::uuid FROM received_emails)`)
    const count = async (): Promise<number> => (await ctx.db.query('SELECT FROM received_emails')).rows.length
    const before = await count()
    await createHousekeepingRound(ctx)()
    assert.equal(await count(), before - 1)
  })
})
