/**
 * Traces of one message through real processes: a collector receives the spans of request, acceptance, claim, attempt,
 * SMTP conversation, result and webhook in one trace with the right parents. A dead or slow collector changes nothing
 * for mail.
 */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '#test/support/otlp-receiver.ts'
import { logInSmtp, sendMessage } from '#test/support/smtp-client.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const traceparentOf = ({ traceId, spanId }: typeof CALLER, flags = '01'): string => `00-${traceId}-${spanId}-${flags}`
const KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer']

describe('traces', () => {
  let collector: OtlpReceiver
  let testbed: Testbed
  let endpoint: WebhookReceiver
  /** By the local part of the recipient. */
  const replies = new Map([['no-one', '550 5.1.1 no such user']])
  before(async () => {
    collector = await startOtlpReceiver()
    testbed = await startTestbed({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      LOG_ADDRESS_KEY: 'a-key-of-sixteen-characters',
      RETRY_SCALE: '0.02',
    })
    await testbed.system.roles.submission.start()
    await testbed.addReceiver('traced.example', {
      on: { rcpt: ({ address }) => replies.get(address.split('@')[0] ?? '') },
    })
    endpoint = await startWebhookReceiver()
    const body = { url: `${endpoint.url}/secret-path`, events: ['email.delivered'] }
    await testbed.system.call('POST', '/public/webhooks', { key: testbed.system.admin, body })
  })
  after(async () => {
    await testbed.stop()
    await endpoint.close()
    await collector.close()
  })
  printLogsOnFailure(() => testbed.system)

  const ofMessage =
    (id: string) =>
    ({ attributes }: ReceivedSpan): boolean =>
      attributes['messaging.message.id'] === id
  const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan =>
    spans.find((span) => span.name === name) ?? assert.fail(`no span ${name} in ${JSON.stringify(spans)}`)
  /** Each span with the name of its parent. */
  const treeOf = (spans: readonly ReceivedSpan[]): string[] =>
    spans
      .map(({ service, name, kind, parentId }) => {
        const parent = spans.find(({ spanId }) => spanId === parentId)?.name ?? parentId ?? 'none'
        return `${parent} > ${name} (${service}, ${KINDS[kind] ?? ''})`
      })
      .toSorted()

  it('one trace goes from the request to the SMTP conversation and the webhook', async () => {
    const headers = { traceparent: traceparentOf(CALLER), 'X-Request-Id': 'traced-1' }
    const id = await testbed.send({ to: 'ann@traced.example', headers })
    const spans = await collector.received(8, ({ traceId }) => traceId === CALLER.traceId)
    assert.deepEqual(treeOf(spans), [
      'POST /api/v1/send-email/instant > accept instant (mailstead-api, producer)',
      'accept instant > POST (mailstead-worker, client)',
      'accept instant > claim instant (mailstead-mta, consumer)',
      'accept instant > deliver instant (mailstead-mta, consumer)',
      `${CALLER.spanId} > POST /api/v1/send-email/instant (mailstead-api, server)`,
      'deliver instant > SMTP (mailstead-mta, client)',
      'deliver instant > compose and sign (mailstead-mta, internal)',
      'deliver instant > record result (mailstead-mta, internal)',
    ])
    const { attributes } = named(spans, 'SMTP')
    assert.strictEqual(attributes['server.address'], 'mx1.traced.example')
    assert.strictEqual(attributes['mailstead.smtp.reply_code'], 250)
    assert.strictEqual(attributes['tls.established'], true)
    assert.match(String(attributes['tls.protocol.version']), /^1\.[23]$/)
    assert.strictEqual(named(spans, 'deliver instant').attributes['mailstead.request.id'], 'traced-1')
    assert.ok(ofMessage(id)(named(spans, 'POST')))
    const webhook = named(spans, 'POST')
    const received = endpoint.requests.at(-1)
    assert.strictEqual(received?.headers['traceparent'], `00-${CALLER.traceId}-${webhook.spanId}-01`)
    assert.ok(spans.every(({ hasFailed, durationMs }) => !hasFailed && durationMs >= 0))
    assert.strictEqual(collector.headers[0]?.['x-tenant'], 'a b')
  })
  it('a refusal is an error of its spans, and addresses and URLs of webhooks are not exported', async () => {
    const id = await testbed.send({ to: 'no-one@traced.example' })
    await testbed.settle(id)
    const [attempt] = await collector.received(1, (span) => ofMessage(id)(span) && span.name === 'deliver instant')
    const [smtp] = await collector.received(1, ({ parentId }) => parentId === attempt?.spanId)
    assert.ok(attempt?.hasFailed)
    assert.match(String(attempt.attributes['mailstead.recipient']), /^[0-9a-f]{16}@traced\.example$/)
    const [conversation] = await collector.received(1, (span) => span.name === 'SMTP' && span.hasFailed)
    assert.strictEqual(conversation?.attributes['mailstead.smtp.reply_code'], 550)
    assert.strictEqual(smtp?.traceId, attempt.traceId)
    assert.notInclude(collector.text, 'no-one@')
    assert.notInclude(collector.text, 'secret-path')
  })
  it('a retry by another process belongs to the same trace, and so do the lines of the log', async () => {
    replies.set('later', '450 4.2.0 try again')
    const id = await testbed.send({ to: 'later@traced.example' })
    const isAttempt = (span: ReceivedSpan): boolean => ofMessage(id)(span) && span.name === 'deliver instant'
    const [first] = await collector.received(1, isAttempt)
    assert.strictEqual(await testbed.system.roles.mta.terminate(), 0)
    replies.delete('later')
    await testbed.system.roles.mta.start()
    const [, second] = await collector.received(2, isAttempt)
    const [webhook] = await collector.received(1, (span) => ofMessage(id)(span) && span.name === 'POST')
    const accepted = named(
      collector.spans.filter(({ traceId }) => traceId === first?.traceId),
      'accept instant',
    )
    assert.deepEqual(
      [first, second, webhook].map((span) => [span?.traceId, span?.parentId]),
      [first, second, webhook].map(() => [accepted.traceId, accepted.spanId]),
    )
    assert.strictEqual(first?.attributes['mailstead.outcome'], 'deferred')
    const { api, mta, worker } = testbed.system.roles
    for (const { logFile } of [api, mta, worker])
      await until(() => readFileSync(logFile, 'utf8').includes(`"traceId":"${accepted.traceId}"`))
  })
  it('submitted mail has a trace of its own', async () => {
    const connection = await logInSmtp(testbed.system.config.submissionPort, testbed.system.regular)
    const content = `From: shop@${testbed.system.domain}\r\nTo: ann@traced.example\r\n\r\nHello\r\n`
    const reply = await sendMessage(connection, { from: 'app@intern.example', to: 'ann@traced.example', content })
    connection.disconnect()
    const id = /em_[0-9a-f]{32}/.exec(reply)?.[0] ?? assert.fail(reply)
    const [webhook] = await collector.received(1, (span) => ofMessage(id)(span) && span.name === 'POST')
    const spans = await collector.received(8, ({ traceId }) => traceId === webhook?.traceId)
    assert.strictEqual(named(spans, 'SMTP submission').parentId, null)
    assert.strictEqual(named(spans, 'accept normal').parentId, named(spans, 'SMTP submission').spanId)
  })
  it('a client prevents the recording, and an invalid or unauthorised traceparent is ignored', async () => {
    const other = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) }
    const quiet = await testbed.send({ to: 'a@traced.example', headers: { traceparent: traceparentOf(other, '00') } })
    const hostile = `00-${'3'.repeat(32)}-${'0'.repeat(16)}-01`
    const id = await testbed.send({ to: 'b@traced.example', headers: { traceparent: hostile } })
    const refused = { headers: { traceparent: traceparentOf(other) }, key: 'ms_0.live_0', body: {} }
    assert.strictEqual((await testbed.system.call('POST', '/send-email/instant', refused)).status, 401)
    await testbed.settle(quiet)
    await collector.received(1, (span) => ofMessage(id)(span) && span.name === 'POST')
    const [unauthorised] = await collector.received(1, (span) => span.attributes['http.response.status_code'] === 401)
    assert.notStrictEqual(unauthorised?.traceId, other.traceId)
    for (const traceId of [other.traceId, '3'.repeat(32)])
      assert.deepEqual(
        collector.spans.filter((span) => span.traceId === traceId),
        [],
      )
  })
  it('a slow and then a dead collector delay neither mail nor the stop of a process', async () => {
    collector.setResponse(() => undefined)
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'c@traced.example' }))).status, 'delivered')
    // its export never ends
    assert.strictEqual(await testbed.system.roles.worker.terminate(), 0)
    await collector.close()
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'd@traced.example' }))).status, 'delivered')
    assert.strictEqual(await testbed.system.roles.mta.terminate(), 0)
    const { logFile } = testbed.system.roles.api
    await until(() => readFileSync(logFile, 'utf8').includes('failed to export spans'))
  })
})
