/**
 * A normal delivery: what the receiver gets, byte by byte where that matters, and what the customer can read about it.
 */
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { parseReturnPath } from '#src/mail/verp.ts'
import { idOfHex } from '#src/platform/id.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'

const BILL = Buffer.from('Summe: 7 €')

describe('delivery', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed()
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  it('a message accepted over REST arrives over TLS, with all requested fields', async () => {
    const mx = await testbed.addReceiver('arrives.example')
    const id = await testbed.send({
      to: 'Ännchen <ann@arrives.example>',
      cc: 'cc@arrives.example',
      from: 'Der Laden <shop@sender.example>',
      reply_to: 'help@sender.example',
      subject: 'Grüße aus Köln',
      text: undefined,
      html: '<p>Grüße &amp; Küsse</p>',
      tags: ['hello'],
      attachments: [
        { filename: 'Rechnung für März.txt', content: BILL.toString('base64'), content_type: 'text/plain' },
      ],
    })
    const details = await testbed.settle(id)
    assert.strictEqual(details.status, 'delivered')
    const received = mx.messages.find(({ to }) => to.includes('ann@arrives.example'))
    assert.ok(received?.tls)
    assert.match(details.recipients[0]?.attempts[0]?.tls ?? '', /^TLSv1\.3 /)
    const mail = await simpleParser(received.bytes)
    assert.strictEqual(mail.subject, 'Grüße aus Köln')
    assert.strictEqual(mail.from?.text, '"Der Laden" <shop@sender.example>')
    assert.strictEqual(mail.replyTo?.text, 'help@sender.example')
    assert.match(mail.text ?? '', /Grüße & Küsse/)
    assert.strictEqual(mail.attachments[0]?.filename, 'Rechnung für März.txt')
    assert.strictEqual(mail.attachments[0]?.content.toString(), 'Summe: 7 €')
    assert.ok(mail.messageId?.includes(id.replace('em_', '')))
    for (const name of ['from', 'to', 'date', 'message-id', 'mime-version', 'subject']) {
      assert.strictEqual(mail.headerLines.filter(({ key }) => key === name).length, 1, name)
    }
  })

  it('both signatures verify against the keys that the domain publishes', async () => {
    const mx = await testbed.addReceiver('signed.example')
    await testbed.settle(await testbed.send({ to: 'ann@signed.example', html: '<h1>Hello</h1>', text: 'Hello' }))
    const { dkimRecords, domain } = testbed.system
    const resolver = (name: string): Promise<string[][]> => Promise.resolve([[dkimRecords[name] ?? '']])
    const { results } = await dkimVerify(mx.messages[0]?.bytes ?? '', { strict: true, resolver })
    assert.deepEqual(
      results.map(({ status, signingDomain, algo }) => `${status.result} ${signingDomain} ${algo}`).toSorted(),
      [`pass ${domain} ed25519-sha256`, `pass ${domain} rsa-sha256`],
    )
  })

  it('each recipient has its own return-path, which identifies message and recipient', async () => {
    const mx = await testbed.addReceiver('verp.example')
    const id = await testbed.send({ to: ['a@verp.example', 'b@verp.example'] })
    await testbed.settle(id)
    const mac = (data: Buffer): Buffer => testbed.system.encryption.mac('return-path', data)
    for (const { from, to } of mx.messages) {
      assert.ok(from.endsWith('@bounces.mta.sender.example'), from)
      assert.deepEqual(parseReturnPath(from, [mac]), {
        messageId: idOfHex(id.replace('em_', '')),
        n: to[0] === 'a@verp.example' ? 0 : 1,
      })
    }
  })

  it('a blind copy is delivered, and no copy names its recipient', async () => {
    const mx = await testbed.addReceiver('blind.example')
    await testbed.settle(
      await testbed.send({ to: 'to@blind.example', cc: 'cc@blind.example', bcc: 'secret@blind.example' }),
    )
    assert.deepEqual(mx.messages.flatMap(({ to }) => to).toSorted(), [
      'cc@blind.example',
      'secret@blind.example',
      'to@blind.example',
    ])
    for (const { bytes } of mx.messages) assert.notMatch(bytes.toString('latin1'), /secret@|^bcc:/im)
  })

  it('mail of every tier is delivered', async () => {
    const mx = await testbed.addReceiver('tiers.example')
    const ids = await Promise.all(TIER_NAMES.map((tier) => testbed.send({ to: `${tier}@tiers.example`, tier })))
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.deepEqual(
      mx.messages.flatMap(({ to }) => to).toSorted(),
      TIER_NAMES.map((tier) => `${tier}@tiers.example`).toSorted(),
    )
  })

  it("sessions are reused up to the receiver's limit of messages", async () => {
    const mx = await testbed.addReceiver('reuse.example')
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, i) => testbed.send({ to: `r${i}@reuse.example`, tier: 'high' })),
    )
    for (const id of ids) await testbed.settle(id)
    assert.strictEqual(mx.messages.length, 60)
    assert.ok(mx.connections <= 10, `${mx.connections} connections`)
  })

  it('the learned limit of messages on a connection is respected', async () => {
    const mx = await testbed.addReceiver('icloud.com')
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, i) => testbed.send({ to: `i${i}@icloud.com`, tier: 'high' })),
    )
    for (const id of ids) await testbed.settle(id)
    const counts = Map.groupBy(mx.messages, ({ connection }) => connection)
    assert.strictEqual(mx.messages.length, 60)
    assert.ok([...counts.values()].every((messages) => messages.length <= 5))
  })

  it('a receiver that ends sessions with 421 after a few messages gets them all, once each', async () => {
    const mx = await testbed.addReceiver('few.example', { messagesPerConnection: 3 })
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, i) => testbed.send({ to: `f${i}@few.example`, tier: 'high' })),
    )
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(new Set(mx.messages.flatMap(({ to }) => to)).size, 20)
    assert.strictEqual(mx.messages.length, 20)
  })

  it('the same request with the same Idempotency-Key is one message', async () => {
    const mx = await testbed.addReceiver('once.example')
    const letter = { to: 'ann@once.example', headers: { 'idempotency-key': 'order-7' } }
    const ids = [await testbed.send(letter), await testbed.send(letter), await testbed.send(letter)]
    assert.strictEqual(new Set(ids).size, 1)
    await testbed.settle(ids[0] ?? '')
    const other = await testbed.send({ to: 'ann@once.example', headers: { 'idempotency-key': 'order-8' } })
    await testbed.settle(other)
    assert.strictEqual(mx.messages.length, 2)
  })

  it('a suppressed address gets no mail; the other recipients do', async () => {
    const mx = await testbed.addReceiver('listed.example')
    const { db, workspaceId } = testbed.system
    await db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'no@listed.example', 'bounce')`,
      [workspaceId],
    )
    const details = await testbed.settle(await testbed.send({ to: ['NO@listed.example', 'yes@listed.example'] }))
    assert.deepEqual(
      details.recipients.map(({ state }) => state),
      ['suppressed', 'delivered'],
    )
    const events = details.events.filter(({ recipient }) => recipient === 'NO@listed.example')
    assert.deepEqual(
      events.map(({ type, data }) => [type, data?.['reason']]),
      [['email.failed', 'suppressed']],
    )
    assert.deepEqual(
      mx.messages.flatMap(({ to }) => to),
      ['yes@listed.example'],
    )
  })

  it('the stored data is consistent', () => checkConsistency(testbed.system))
})
