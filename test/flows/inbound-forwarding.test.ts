/**
 * Mail that an inbound route forwards, by real processes: from the SMTP conversation at the inbound port to the server
 * of the target, and back with its bounce.
 */
import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import { authenticate } from 'mailauth'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { newId } from '#src/platform/id.ts'
import { listOf, textOf, type Json } from '#test/support/api.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { dsnOf } from '#test/support/reports.ts'
import { connectSmtp, submitMessage } from '#test/support/smtp-connection.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const MAIL = [
  'From: Ann <ann@friend.example>',
  'To: support@sender.example',
  'Date: Thu, 1 Jan 2026 10:00:00 +0000',
  'Message-ID: <1@friend.example>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  '',
  'Hello \t you',
  '.dot',
  '',
  '',
].join('\r\n')

const SIGNER = { signingDomain: 'friend.example', selector: 's1', privateKey: KEYS.privateKey }

interface Received {
  readonly state: string
  readonly forward_result: string | null
  readonly forward_email_id: string | null
}

describe('forwarding of inbound mail', () => {
  let testbed: Testbed
  let home: Receiver
  let port: number
  before(async () => {
    testbed = await startTestbed()
    const { system, dns } = testbed
    Object.assign(dns.zone, {
      's1._domainkey.friend.example': { TXT: [`v=DKIM1; k=rsa; p=${KEYS.publicKey.toString('base64')}`] },
      'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
      '_dmarc.bank.example': { TXT: ['v=DMARC1; p=reject'] },
    })
    home = await testbed.addReceiver('home.example')
    port = system.config.inboundPort
    await system.roles.inbound.start()
    const userId = newId()
    await system.db.query(`INSERT INTO users (id, email, name) VALUES ($1, 'bea@home.example', 'Bea')`, [userId])
    await system.db.query('INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, $3)', [
      system.workspaceId,
      userId,
      'developer',
    ])
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const call = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> =>
    testbed.system.call(method, path, { key: testbed.system.admin, ...(body === undefined ? {} : { body }) })

  async function createRoute(local: string, fields: object = {}): Promise<string> {
    const forward = { action: 'forward', forward_to: ['bea@home.example'], ...fields }
    const { status, body } = await call('POST', '/public/inbound/routes', {
      address: `${local}@${testbed.system.domain}`,
      ...forward,
    })
    assert.equal(status, 201, JSON.stringify(body))
    const connection = await connectSmtp(port)
    await connection.command('EHLO client.test')
    await until(
      async () => {
        await connection.command('RSET')
        await connection.command('MAIL FROM:<a@b.example>')
        return (await connection.command(`RCPT TO:<${local}@${testbed.system.domain}>`)).startsWith('250 ')
      },
      () => 'the route is not known',
    )
    connection.disconnect()
    return textOf(body['data']?.['id'])
  }

  /** Submits a mail, and waits until it is processed. */
  async function bring(local: string, content: string | Buffer, from = 'ann@friend.example'): Promise<Received> {
    const list = async (): Promise<Received[]> =>
      listOf((await call('GET', '/public/inbound/emails')).body['data']?.['emails']) as never
    const before = (await list()).length
    const reply = (await submitMessage(port, { from, to: `${local}@${testbed.system.domain}`, content })).at(-1) ?? ''
    assert.match(reply, /^250 /)
    let found: Received | undefined
    await until(
      async () => {
        const emails = await list()
        found = emails.length > before ? emails[0] : undefined
        return found !== undefined && found.state !== 'received'
      },
      () => 'the mail is not processed',
    )
    assert.ok(found !== undefined)
    return found
  }

  const resolver = (name: string, type: string): Promise<string[][]> => {
    const key = testbed.system.dkimRecords[name]
    const found = key === undefined ? (testbed.dns.zone[name] as Record<string, string[]> | undefined)?.[type] : [key]
    return found === undefined
      ? Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
      : Promise.resolve(found.map((text) => [text]))
  }

  it('arrives with its octets, its signature, an ARC set, and our return-path; a bounce is recorded', async () => {
    await createRoute('support')
    const signature = await dkimSign(MAIL, {
      canonicalization: 'relaxed/relaxed',
      ...SIGNER,
      signatureData: [SIGNER],
    })
    const content = `${signature.signatures}${MAIL}`
    const received = await bring('support', content.replaceAll(/^\./gm, '..').slice(0, -2))
    assert.equal(received.forward_result, 'forwarded')
    const id = received.forward_email_id ?? ''
    const details = await testbed.settle(id)
    assert.equal(details.status, 'delivered')
    const arrived = home.messages.at(-1)
    assert.ok(arrived !== undefined)
    assert.match(arrived.from, /^b-[a-z2-7]{45}@bounces\.mta\.sender\.example$/)
    assert.ok(arrived.bytes.subarray(-Buffer.byteLength(content)).equals(Buffer.from(content)), 'the octets')
    const checked = (await authenticate(arrived.bytes, {
      ip: '192.0.2.1',
      helo: 'mta.sender.example',
      sender: arrived.from,
      mta: 'mx.home.example',
      resolver,
      disableBimi: true,
    })) as unknown as {
      dkim: { results: { signingDomain: string; status: { result: string } }[] }
      arc: { status: { result: string }; signature: { signingDomain: string } }
    }
    assert.deepEqual(
      checked.dkim.results.map(({ signingDomain, status }) => [signingDomain, status.result]),
      [['friend.example', 'pass']],
    )
    assert.deepEqual([checked.arc.status.result, checked.arc.signature.signingDomain], ['pass', testbed.system.domain])
    assert.match(
      arrived.bytes.toString('latin1').replaceAll(/\r\n\s+/g, ' '),
      /^ARC-Authentication-Results: i=1; mta\.sender\.example; spf=pass smtp\.mailfrom=friend\.example; dkim=pass /m,
    )
    await submitMessage(port, { from: '', to: arrived.from, content: dsnOf({ recipient: 'bea@home.example' }) })
    await testbed.settle(id, 'bounced')
    await testbed.system.db.query(`DELETE FROM suppressions WHERE address = 'bea@home.example'`)
    const again = await bring('support', arrived.bytes)
    assert.equal(again.forward_result, 'loop')
  })

  it('a bounce is forwarded with the null sender', async () => {
    await createRoute('bounces-here')
    const count = home.messages.length
    const received = await bring('bounces-here', `X-Test: null\r\n${MAIL}`, '')
    assert.equal(received.forward_result, 'forwarded')
    await testbed.settle(received.forward_email_id ?? '')
    assert.equal(home.messages.slice(count).find(({ bytes }) => bytes.includes('X-Test: null'))?.from, '')
  })

  it('spam is not forwarded unless the route says so, and mail with bare line ends never is', async () => {
    await createRoute('careful')
    await createRoute('everything', { forwards_spam: true })
    const forged = MAIL.replace('ann@friend.example', 'ceo@bank.example')
    assert.equal((await bring('careful', forged, 'x@bank.example')).forward_result, 'spam')
    assert.equal((await bring('everything', forged, 'x@bank.example')).forward_result, 'forwarded')
    assert.equal((await bring('careful', MAIL.replace('Hello', 'He\nllo'))).forward_result, 'malformed')
  })

  it('goes only to addresses of members and of verified domains, also after a member has left', async () => {
    const refused = async (fields: object): Promise<string> => {
      const address = `r${newId()}@${testbed.system.domain}`
      const { status, body } = await call('POST', '/public/inbound/routes', { address, action: 'forward', ...fields })
      assert.equal(status, 400)
      return JSON.stringify(body['details'])
    }
    assert.match(await refused({ forward_to: ['victim'] }), /victim is not an address/)
    assert.match(await refused({ forward_to: [] }), /needs at least one address/)
    assert.match(await refused({ action: 'store', forward_to: ['bea@home.example'] }), /only the actions forward and/)
    const id = await createRoute('left', { forward_to: [`other@${testbed.system.domain}`] })
    const path = `/public/inbound/routes/${id}`
    assert.equal((await call('PATCH', path, { forward_to: ['BEA@home.example'] })).status, 200)
    await testbed.system.db.query('DELETE FROM workspace_members')
    assert.equal((await bring('left', MAIL)).forward_result, 'no-target')
  })

  it('goes to a stranger only after they confirmed it by a mailed link', async () => {
    const outside = await testbed.addReceiver('outside.example')
    const id = await createRoute('out', { forward_to: ['Carl@outside.example'] })
    const path = `/public/inbound/routes/${id}`
    const target = async (): Promise<Record<string, unknown> | undefined> =>
      listOf((await call('GET', path)).body['data']?.['forward_targets'])[0]
    assert.equal((await target())?.['state'], 'unconfirmed')
    assert.equal((await bring('out', MAIL)).forward_result, 'no-target')
    const [mail] = await outside.until(1)
    assert.equal(mail?.to.join(), 'carl@outside.example')
    const text = String(mail?.bytes).replaceAll(/=\r?\n/g, '')
    assert.match(text, new RegExp(`wants to forward mail for out@${testbed.system.domain}`))
    const link = /\/confirm-forward\/[\w-]+/.exec(text)?.[0] ?? ''
    const open = (method: string, headers = {}): Promise<Response> =>
      fetch(`${testbed.system.url}${link}`, { method, headers: { accept: 'text/html', ...headers } })
    for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await open(method)).status, 200)
    assert.equal((await target())?.['state'], 'unconfirmed', 'opening the link confirms nothing')
    assert.equal((await open('POST', { 'sec-fetch-site': 'cross-site' })).status, 403)
    const again = await call('POST', `${path}/confirmation`, { address: 'carl@outside.example' })
    assert.equal(again.status, 429, 'links are limited')
    assert.equal((await call('POST', `${path}/confirmation`, {})).status, 429, 'there is only one such address')
    assert.match(
      await (await open('POST', { 'content-type': 'application/x-www-form-urlencoded' })).text(),
      /Forwarding is confirmed/,
    )
    assert.equal((await open('POST')).status, 404, 'a link works once')
    assert.equal((await target())?.['state'], 'confirmed')
    for (const body of [{ address: 'carl@outside.example' }, {}])
      assert.equal((await call('POST', `${path}/confirmation`, body)).status, 409)
    const several = await createRoute('several', { forward_to: ['dora@outside.example', 'eve@outside.example'] })
    const unclear = await call('POST', `/public/inbound/routes/${several}/confirmation`, {})
    assert.match(JSON.stringify(unclear.body['details']), /several are not confirmed: dora@outside.example, eve@/)
    assert.equal((await bring('out', MAIL)).forward_result, 'forwarded')
    await until(() => outside.messages.some(({ to }) => to.join() === 'Carl@outside.example'))
    const { rows } = await testbed.system.db.query(
      `SELECT actor_kind, actor, object FROM audit_log WHERE action = 'confirm-forward'`,
    )
    assert.deepEqual(rows, [{ actor_kind: 'mailbox', actor: 'carl@outside.example', object: 'carl@outside.example' }])
    // another workspace needs its own confirmation, and an old link is worth nothing
    await testbed.system.db.query(`UPDATE forward_addresses SET confirmed_at = NULL, expires_at = now()`)
    assert.equal((await open('POST')).status, 404)
    assert.equal((await bring('out', MAIL)).forward_result, 'no-target')
  })
})
