/** A sending domain as receivers see it: return-path and signatures; and mail of a domain that may no longer send. */
import { assert } from 'chai'
import { digestsFor } from '#src/crypto/encryption.ts'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { systemClock } from '#src/platform/clock.ts'
import { generateDkimKeys } from '#src/domains/dkim-key.ts'
import { storeDkimKey } from '#src/domains/domains.ts'
import { idOfHex, newId } from '#src/platform/id.ts'
import { parseReturnPath } from '#src/mail/verp.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { listOf, textOf, type Json, type TestResponse } from '#test/support/api.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { until } from '#test/support/until.ts'

describe('sending domains', () => {
  let testbed: Testbed
  let names = 0
  before(async () => {
    testbed = await startTestbed()
  })
  after(() => testbed.stop())

  const newSender = (): Promise<Sender> => {
    const { db, encryption, config } = testbed.system
    return createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: `from${names++}.example` })
  }
  type Sending = Pick<Sender, 'domain' | 'regular'>
  async function send(sender: Sending, to: string): Promise<string> {
    const { status, body } = await testbed.system.call('POST', '/send-email/instant', {
      key: sender.regular,
      body: { from: `shop@${sender.domain}`, to: [to], subject: 'Hello', text: 'Hello' },
    })
    assert.strictEqual(status, 200)
    return (body['email_id'] as unknown as string).replace('em_', '')
  }
  async function arrival(
    mx: Receiver,
    sender: Sending,
    to: string,
  ): Promise<{ readonly id: string; readonly from: string; readonly bytes: Buffer }> {
    const count = mx.messages.length
    const id = await send(sender, to)
    await until(
      () => mx.messages.length > count,
      () => 'nothing arrived',
    )
    const { from, bytes } = mx.messages.at(-1) ?? assert.fail()
    return { id, from, bytes: Buffer.from(bytes) }
  }

  it('are verified automatically, sign mail, and lose verification', async () => {
    const mx = await testbed.addReceiver('whole.example')
    const { dns, system } = testbed
    const admin = (method: string, path: string, body?: object): Promise<TestResponse> =>
      system.call(method, `/public/domains${path}`, { key: system.admin, ...(body === undefined ? {} : { body }) })
    const domain = (await admin('POST', '/add-domain', { domain: 'whole-shop.example' })).body['data'] as Json
    const id = textOf(domain['id'])
    dns.zone[system.config.bounceDomain] = { TXT: [`v=spf1 a:${system.config.serverName} -all`] }
    dns.zone[system.config.serverName] = { A: ['192.0.2.1'] }
    for (const record of listOf(domain['dns_records'])) {
      const [name, value] = [textOf(record['name']), textOf(record['value'])]
      dns.zone[name] = {
        ...dns.zone[name],
        ...(textOf(record['type']) === 'MX' ? { MX: [[10, value] as const] } : { TXT: [value] }),
      }
    }
    const statuses = async (): Promise<unknown[]> => {
      const { data } = (await admin('GET', `/domain-status/${id}`)).body
      return [data?.['verification_status'], data?.['mail_from_status']]
    }
    await until(
      async () => (await statuses()).every((status) => status === 'verified'),
      () => 'the worker has not verified it',
    )

    const made = (await admin('POST', '/api-keys/create', { name: 'k', custom_domain_id: id })).body['data'] as Json
    const sender = { domain: 'whole-shop.example', regular: textOf(made['secret_key']) }
    const { from, bytes } = await arrival(mx, sender, 'ann@whole.example')
    assert.ok(from.endsWith('@bounce.whole-shop.example'), from)
    const resolver = (name: string): Promise<string[][]> => Promise.resolve([[...(dns.zone[name]?.TXT ?? [])]])
    const { results } = await dkimVerify(bytes, { resolver })
    assert.deepEqual(
      results.map(({ status, signingDomain }) => `${status.result} ${signingDomain}`),
      Array(2).fill('pass whole-shop.example'),
    )

    await suspend(system, 'whole.example', 'to hold it')
    const queued = `em_${await send(sender, 'ann@whole.example')}`
    assert.strictEqual((await admin('DELETE', `/delete-domain/${id}`)).status, 200)
    await until(
      async () => (await testbed.getMessage(queued)).status === 'failed',
      () => 'its queued mail has not failed',
      60_000,
    )
    assert.strictEqual(
      (await testbed.getMessage(queued)).recipients[0]?.reason,
      'the sending domain whole-shop.example was removed',
    )
  })

  it('use a return-path on their own subdomain once it is in DNS, with the same token', async () => {
    const mx = await testbed.addReceiver('ours.example')
    const sender = await newSender()
    const { db, encryption, config } = testbed.system
    const before = await arrival(mx, sender, 'ann@ours.example')
    assert.ok(before.from.endsWith(`@${config.bounceDomain}`))
    const second = await newSender()
    await db.query(`UPDATE domains SET mail_from_status = 'verified' WHERE id = $1`, [second.domainId])
    const { id, from } = await arrival(mx, second, 'ann@ours.example')
    assert.ok(from.endsWith(`@bounce.${second.domain}`), from)
    assert.deepEqual(parseReturnPath(from, digestsFor(encryption, 'return-path')), { messageId: idOfHex(id), n: 0 })
  })

  it('sign with the active key pair, not with a pending or retired one', async () => {
    const mx = await testbed.addReceiver('rotated.example')
    const sender = await newSender()
    const { db, encryption } = testbed.system
    const pairId = newId()
    for (const key of await generateDkimKeys())
      await storeDkimKey({ encryption, clock: systemClock }, db, {
        domainId: sender.domainId,
        pairId,
        key,
        state: 'waiting',
      })
    const selectors = async ({ bytes }: { readonly bytes: Buffer }): Promise<string[]> =>
      (await dkimVerify(bytes, { resolver: () => Promise.resolve([['']]) })).results
        .map(({ selector }) => String(selector))
        .toSorted()
    assert.deepEqual(await selectors(await arrival(mx, sender, 'ann@rotated.example')), ['s1', 's2'])
    await db.query(
      `UPDATE dkim_keys SET state = CASE state WHEN 'active' THEN 'retired' ELSE 'active' END WHERE domain_id = $1`,
      [sender.domainId],
    )
    const next = `ms-${pairId.slice(-8)}`
    // the outbound process asks again within seconds
    await until(
      async () => (await selectors(await arrival(mx, sender, 'ann@rotated.example'))).join() === `${next},${next}-ed`,
    )
  })

  it('that failed have their queued mail fail with that reason', async () => {
    const mx = await testbed.addReceiver('held.example')
    const sender = await newSender()
    const { system } = testbed
    await suspend(system, 'held.example', 'to hold it')
    const id = await send(sender, 'ann@held.example')
    await system.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [sender.domainId])
    await resume(system, 'held.example')
    const read = async (): Promise<{ state: string; reason: string } | undefined> =>
      (
        await system.db.query<{ state: string; reason: string }>(
          'SELECT state, reason FROM recipients WHERE message_id = $1',
          [idOfHex(id)],
        )
      ).rows[0]
    await until(
      async () => (await read())?.state === 'failed',
      () => 'it has not failed',
    )
    assert.match(
      (await read())?.reason ?? '',
      new RegExp(`the sending domain of shop@${sender.domain} is no longer verified`),
    )
    assert.strictEqual(mx.messages.length, 0)
  })
})
