/**
 * Runs numbered SMTP dialogs (`scripted-server.ts`) against Mailstead's SMTP client. A line `= ...` in a dialog is the
 * expected result: that no session was opened, or the outcome of the next message.
 */
import { assert } from 'chai'
import type { Mail } from '#mta/smtp/transaction.ts'
import { openSession } from '#mta/smtp/open.ts'
import type { SessionSettings } from '#mta/smtp/open.ts'
import type { OpenFailure, TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import type { Timeouts } from '#mta/smtp/timeouts.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import { startScriptedServer } from './scripted-server.ts'

export interface SmtpDialog {
  readonly n: number
  readonly title: string
  readonly text: string
  readonly tls?: SessionSettings['tls']
  /** Replaces the time-outs of these steps. */
  readonly timeouts?: Partial<Timeouts>
  /** Replaces parts of the message. */
  readonly mail?: Partial<Mail>
}

const MAIL: Mail = {
  from: 'a@out.test',
  to: 'b@in.test',
  data: Buffer.from('Subject: x\r\n\r\n.hello\r\n'),
  smtputf8: false,
}

/** Plays a dialog and fails unless all of it happened as written. */
export async function runDialog(dialog: SmtpDialog): Promise<void> {
  const lines = dialog.text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const expected = lines.filter((line) => line.startsWith('= '))
  const script = lines.filter((line) => !line.startsWith('= '))
  const server = await startScriptedServer(script.join('\n'))
  const results = await runClient(server.port, dialog, expected.length)
  assert.strictEqual(await server.finish(), script.join('\n'))
  assert.deepEqual(results, expected)
}

/** The listener hears of each message that is accepted, and of no other. */
async function deliver(session: Session, mail: Mail): Promise<TransactionResult> {
  const accepted: { reply: Reply; conversation: readonly string[] }[] = []
  const result = await session.deliver({
    ...mail,
    onAccepted: (reply, lines) => accepted.push({ reply, conversation: [...lines] }),
  })
  const expected = result.kind === 'accepted' ? [{ reply: result.reply, conversation: result.conversation }] : []
  assert.deepEqual(accepted, expected)
  return result
}

async function runClient(port: number, dialog: SmtpDialog, count: number): Promise<string[]> {
  const settings: SessionSettings = {
    ehloName: 'out.test',
    tls: dialog.tls ?? 'never',
    rejectUnauthorized: false,
    timeouts: chooseTimeouts(dialog.timeouts),
  }
  const opened = await openSession({ host: 'mx.in.test', address: '127.0.0.1', port }, settings)
  if (!opened.ok) return [describeFailure(opened.failure)]
  const results: string[] = []
  for (let i = 0; i < count; i++)
    results.push(describeResult(await deliver(opened.session, { ...MAIL, ...dialog.mail })))
  await opened.session.quit()
  return results
}

function describeFailure({ stage, reply, loss }: OpenFailure): string {
  assert.notStrictEqual(reply === null, loss === null, 'either a reply or a loss')
  return `= not opened, ${stage}: ${reply === null ? loss?.cause : formatReply(reply)}`
}

function describeResult(result: TransactionResult): string {
  if (result.kind === 'accepted') return `= accepted: ${formatReply(result.reply)}`
  if (result.kind === 'rejected')
    return `= rejected${result.local === true ? ' by ourselves' : ''}, ${result.stage}: ${formatReply(result.reply)}`
  return `= lost${result.afterDot ? ' after the dot' : ''}, ${result.stage}: ${result.cause}`
}
