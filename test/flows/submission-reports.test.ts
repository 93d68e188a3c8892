/**
 * Delivery status notifications for mail submitted over SMTP: who gets one, for what, and what it contains (RFC 3461,
 * RFC 3464).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { parseReport, type ParsedReport } from '#mta/classify/report.ts'
import { OPERATOR_TOKEN, textOf } from '#test/support/api.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { Receiver } from '#test/support/receiver.ts'
import type { ReceivedMessage } from '#test/support/receiver-connection.ts'
import { logInSmtp } from '#test/support/smtp-client.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

interface SubmissionOptions {
  readonly from?: string
  readonly mail?: string
  readonly rcpt?: string
  readonly to?: string
  readonly extra?: string
  readonly body?: string
}

describe('delivery reports of submission', () => {
  let testbed: Testbed
  let home: Receiver
  let mails = 0
  before(async () => {
    testbed = await startTestbed()
    await testbed.system.roles.submission.start()
    home = await testbed.addReceiver('sender.example')
    await testbed.addReceiver('full.example', { on: { rcpt: '550 5.1.1 No such user "here"' } })
    await testbed.addReceiver('fine.example')
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  /** Hands a mail in and waits until it is settled; answers its subject. */
  const hand = async (order: SubmissionOptions): Promise<string> => {
    const { id, subject } = await submit(order)
    await testbed.settle(id)
    return subject
  }
  const submit = async ({
    from = 'app@sender.example',
    mail = '',
    rcpt = '',
    to = 'nobody@full.example',
    extra = '',
    body = 'The body',
  }: SubmissionOptions): Promise<{ id: string; subject: string }> => {
    const subject = `mail ${++mails}`
    const connection = await logInSmtp(testbed.system.config.submissionPort, testbed.system.regular)
    for (const command of [`MAIL FROM:<${from}>${mail}`, `RCPT TO:<${to}>${rcpt}`, 'DATA'])
      assert.match(await connection.command(command), /^[23]/)
    connection.send(
      `From: shop@sender.example\r\nSubject: ${subject}\r\nX-Priority-Tier: instant\r\n${extra}\r\n${body}\r\n.\r\n`,
    )
    const id = /em_[0-9a-f]{32}/.exec(await connection.readReply())?.[0] ?? assert.fail()
    connection.disconnect()
    return { id, subject }
  }
  const about = (subject: string): ReceivedMessage[] =>
    home.messages.filter(({ bytes }) => bytes.includes(`: ${subject}\r\n`))
  const reportOf = async (subject: string): Promise<{ message: ReceivedMessage; report: ParsedReport }> => {
    await until(
      () => about(subject).length > 0,
      () => `no report about ${subject}`,
    )
    const [message] = about(subject)
    assert.ok(message !== undefined)
    return { message, report: parseReport(message.bytes) }
  }

  it('a failure is reported to the envelope sender, with the null sender and signed', async () => {
    const subject = await hand({ mail: ' ENVID=q+2B1 RET=HDRS', rcpt: ' ORCPT=rfc822;Nobody@full.example' })
    const { message, report } = await reportOf(subject)
    assert.strictEqual(message.from, '')
    assert.deepEqual(message.to, ['app@sender.example'])
    assert.deepEqual(
      [report.kind, report.recipients.map(({ address, hard, status }) => [address, hard, status])],
      ['bounce', [['nobody@full.example', true, '5.1.1']]],
    )
    const text = message.bytes.toString()
    assert.match(text, /^DKIM-Signature: /)
    assert.match(text, /\r\nOriginal-Envelope-Id: q\+1\r\n/)
    assert.match(
      text,
      new RegExp(
        String.raw`\r\nOriginal-Recipient: rfc822;Nobody@full\.example` +
          String.raw`\r\nFinal-Recipient: rfc822; nobody@full\.example\r\nAction: failed\r\nStatus: 5\.1\.1` +
          String.raw`\r\nRemote-MTA: dns; mx1\.full\.example` +
          String.raw`\r\nDiagnostic-Code: smtp; 550 .*No such user`,
      ),
    )
    assert.match(text, /Content-Type: text\/rfc822-headers[^]*\r\nSubject: mail/)
    assert.notMatch(text, /The body/)
    const parsed = await simpleParser(message.bytes)
    assert.match(parsed.text ?? '', /could not be delivered[^]*nobody@full\.example/)
  })
  it('RET=FULL returns the whole message', async () => {
    const { message } = await reportOf(await hand({ mail: ' RET=FULL' }))
    assert.match(message.bytes.toString(), /Content-Type: message\/rfc822[^]*\r\n\r\nThe body\r\n/)
  })
  it('a long message, which is stored compressed, is returned whole, or its header', async () => {
    const body = `${'Some words of a long mail.\r\n'.repeat(500)}The end`
    const whole = (await reportOf(await hand({ mail: ' RET=FULL', body }))).message.bytes.toString()
    assert.include(whole, `\r\n\r\n${body}\r\n`)
    const header = (await reportOf(await hand({ mail: ' RET=HDRS', body }))).message.bytes.toString()
    assert.match(header, /Content-Type: text\/rfc822-headers[^]*\r\nSubject: mail/)
    assert.notInclude(header, 'Some words')
  })
  it('NOTIFY=SUCCESS reports a delivery as relayed', async () => {
    const { message } = await reportOf(await hand({ rcpt: ' NOTIFY=SUCCESS,FAILURE', to: 'ann@fine.example' }))
    assert.match(message.bytes.toString(), /\r\nAction: relayed\r\nStatus: 2\.\d\.\d\r\n/)
  })
  it('of a template, too', async () => {
    const { body } = await testbed.system.call('POST', '/templates/save', {
      body: { name: 't', subject: 'Hi', body: 'Hi' },
    })
    const { report } = await reportOf(await hand({ extra: `X-Template-Id: ${textOf(body['data']?.['id'])}\r\n` }))
    assert.strictEqual(report.kind, 'bounce')
  })

  const SILENT: Readonly<Record<string, SubmissionOptions>> = {
    'NOTIFY=NEVER': { rcpt: ' NOTIFY=NEVER' },
    'NOTIFY=SUCCESS, of a failure': { rcpt: ' NOTIFY=SUCCESS' },
    'the null sender': { from: '' },
    'an envelope sender of somebody else': { from: 'app@other.example' },
    'a delivery, when nobody asked': { to: 'ann@fine.example' },
  }
  it('nothing is reported with NOTIFY=NEVER or to addresses that must not get mail', async () => {
    const subjects: string[] = []
    for (const order of Object.values(SILENT)) subjects.push(await hand(order))
    await reportOf(await hand({})) // one that came after them was reported
    assert.deepEqual(
      subjects.map((subject) => about(subject).length),
      subjects.map(() => 0),
    )
  })
  it('mail bounced by the operator is reported, tried or not; NOTIFY=NEVER and dropped mail is not', async () => {
    await testbed.addReceiver('busy.example', { on: { rcpt: '451 4.3.2 Come again' } })
    const act = async (verb: string, body: object): Promise<void> => {
      const answer = await testbed.system.call('POST', `/admin/queue/${verb}`, { key: OPERATOR_TOKEN, body })
      assert.deepEqual(
        [answer.status, answer.body['data']?.['moved'] as unknown],
        [200, 1],
        JSON.stringify(answer.body),
      )
    }
    assert.strictEqual(
      (
        await testbed.system.call('POST', '/admin/suspensions', {
          key: OPERATOR_TOKEN,
          body: { domain: 'stopped.example' },
        })
      ).status,
      200,
    )
    const untried = await submit({ to: 'ann@stopped.example', mail: ' ENVID=u1' })
    const [never, dropped] = [
      await submit({ to: 'ann@stopped.example', rcpt: ' NOTIFY=NEVER' }),
      await submit({ to: 'ann@stopped.example' }),
    ]
    const tried = await submit({ to: 'ann@busy.example' })
    await until(async () => (await testbed.getMessage(tried.id)).recipients[0]?.state === 'deferred')
    await act('bounce', { message: never.id, reason: 'a wrong list' })
    await act('drop', { message: dropped.id })
    await act('bounce', { message: untried.id, reason: 'a wrong list' })
    // between two tries of its own it is waiting; while it is being tried it is left alone
    await testbed.system.call('POST', '/admin/suspensions', { key: OPERATOR_TOKEN, body: { domain: 'busy.example' } })
    await until(async () => (await testbed.getMessage(tried.id)).recipients[0]?.state !== 'sending')
    await act('bounce', { message: tried.id, reason: 'a wrong list' })
    const first = await reportOf(untried.subject)
    assert.match(
      first.message.bytes.toString(),
      /\r\nOriginal-Envelope-Id: u1\r\n[^]*\r\nAction: failed\r\nStatus: 5\.0\.0\r\n/,
    )
    assert.match(first.message.bytes.toString(), /\r\n {2}a wrong list\r\n/)
    assert.deepEqual(
      first.report.recipients.map(({ address }) => address),
      ['ann@stopped.example'],
    )
    const second = (await reportOf(tried.subject)).message.bytes.toString()
    assert.match(
      second,
      new RegExp(
        String.raw`\r\n {2}a wrong list\r\n[^]*\r\nAction: failed\r\nStatus: 4\.3\.2` +
          String.raw`\r\nRemote-MTA: dns; mx1\.busy\.example\r\nDiagnostic-Code: smtp; 451 4\.3\.2 Come again`,
      ),
    )
    assert.deepEqual([about(never.subject).length, about(dropped.subject).length], [0, 0])
  })
  it('a report that bounces ends there', async () => {
    home.script = { on: { rcpt: '550 5.1.1 gone' } }
    const subject = await hand({})
    const count = async (): Promise<number> =>
      (
        await testbed.system.db.query(`SELECT FROM messages WHERE submitted ? 'isReport' AND subject LIKE $1`, [
          `%${subject}`,
        ])
      ).rows.length
    await until(async () => (await count()) === 1)
    await until(async () => (await testbed.system.db.query('SELECT FROM recipients WHERE is_open')).rows.length === 0)
    await sleep(2500) // a round of the worker
    assert.strictEqual(await count(), 1)
    home.script = {}
  })
})
