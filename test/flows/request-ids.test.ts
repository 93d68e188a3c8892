/**
 * One search for the id of a request finds its way through the logs of all roles: the request or SMTP transaction, the
 * SMTP attempt and the webhook. Real processes at the default log level.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { assert } from 'chai'
import { logInSmtp, sendMessage } from '#test/support/smtp-client.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'

type Line = Readonly<Record<string, unknown>>

describe('the id of a request', () => {
  let testbed: Testbed
  let endpoint: WebhookReceiver
  before(async () => {
    testbed = await startTestbed()
    await testbed.system.roles.submission.start()
    await testbed.addReceiver('found.example')
    endpoint = await startWebhookReceiver()
    const body = { url: endpoint.url, events: ['email.delivered'] }
    const { status } = await testbed.system.call('POST', '/public/webhooks', { key: testbed.system.admin, body })
    assert.strictEqual(status, 201)
  })
  after(async () => {
    await testbed.stop()
    await endpoint.close()
  })
  printLogsOnFailure(() => testbed.system)

  /** As `grep TEXT data/log/*.log`, by process and message. */
  const grep = (text: string): Line[] =>
    Object.values(testbed.system.roles)
      .flatMap(({ logFile }) => linesOf(logFile))
      .filter((line) => line.includes(text))
      .map((line) => JSON.parse(line) as Line)
  const stepsOf = (lines: readonly Line[]): string[] =>
    lines.map((line) => `${String(line['process'])}: ${String(line['msg'])}`).toSorted()
  const seen = async (text: string, steps: readonly string[]): Promise<Line[]> => {
    await until(
      () => steps.every((step) => stepsOf(grep(text)).includes(step)),
      () => `the lines are ${JSON.stringify(grep(text))}`,
    )
    return grep(text)
  }
  const requestIdOf = async (id: string): Promise<unknown> => {
    const { body } = await testbed.system.call('GET', `/public/emails/get-email?id=${id}`)
    return body['data']?.['request_id']
  }

  it('is in the lines of request, SMTP attempt and webhook, which name the message', async () => {
    const requestId = 'order-4711:retry.2'
    const id = await testbed.send({ to: 'ann@found.example', headers: { 'X-Request-Id': requestId } })
    const lines = await seen(requestId, ['api: request', 'mta: deliver', 'worker: webhook delivered'])
    assert.deepEqual(new Set(lines.map((line) => `em_${String(line['id']).replaceAll('-', '')}`)), new Set([id]))
    assert.deepEqual(new Set(lines.map((line) => line['requestId'])), new Set([requestId]))
    assert.strictEqual(await requestIdOf(id), requestId)
  })
  it('of a batch is in the lines of each of its messages', async () => {
    const requestId = 'batch-1'
    const message = { from: `shop@${testbed.system.domain}`, subject: 'Hello', text: 'Hello' }
    const messages = ['a', 'b'].map((name) => ({ ...message, to: `${name}@found.example` }))
    const { status } = await testbed.system.call('POST', '/send-email/batch', {
      body: { messages },
      headers: { 'X-Request-Id': requestId },
    })
    assert.strictEqual(status, 200)
    const [deliver, webhook] = ['mta: deliver', 'worker: webhook delivered']
    const steps = ['api: request', deliver, deliver, webhook, webhook]
    await until(
      () => isDeepStrictEqual(stepsOf(grep(requestId)), steps),
      () => `the lines are ${JSON.stringify(grep(requestId))}`,
    )
    assert.strictEqual(grep(requestId).find(({ msg }) => msg === 'request')?.['count'], 2)
  })
  it('that nobody could search for is replaced by a new one', async () => {
    const id = await testbed.send({ to: 'bob@found.example', headers: { 'X-Request-Id': 'two words' } })
    assert.match(String(await requestIdOf(id)), /^[0-9a-f-]{36}$/)
  })
  it('is that of the SMTP transaction for submitted mail', async () => {
    const connection = await logInSmtp(testbed.system.config.submissionPort, testbed.system.regular)
    const content = `From: shop@${testbed.system.domain}\r\nTo: ann@found.example\r\n\r\nHello\r\n`
    const reply = await sendMessage(connection, { from: 'app@intern.example', to: 'ann@found.example', content })
    connection.disconnect()
    const id = /em_[0-9a-f]{32}/.exec(reply)?.[0] ?? assert.fail(reply)
    const requestId = String(await requestIdOf(id))
    await seen(requestId, ['mta: accepted', 'mta: deliver', 'worker: webhook delivered'])
  })
})

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return [] // the role was not started
  }
}
