/** `mailstead explain ID`: why a message is where it is, its timeline, and every word of every attempt. */
import { type Action, type Io, runAction, UsageError } from '#bin/cli.ts'
import { withContext } from '#bin/cli-context.ts'
import { hexOf, messageIdOf } from '#src/id.ts'
import { explainMessage, type Explanation } from '#src/messages/explain.ts'
import type { AttemptView } from '#src/messages/read.ts'

const EXPLAIN: Action = {
  usage: 'ID', words: [1, 1],
  run: (call) => {
    const id = messageIdOf(call.word(0))
    if (id === null) throw new UsageError(`${JSON.stringify(call.word(0))} is no message id (em_…, msg_…)`)
    return withContext(call.io, async ({ db, clock }) => {
      const explanation = await explainMessage(db, null, id, new Date(clock.now()))
      if (explanation === null) return call.fail(`There is no message ${call.word(0)}.`)
      return call.answer(textOf(explanation), jsonOf(explanation))
    })
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('explain', EXPLAIN, args, io)
}

function textOf({ message, recipients }: Explanation): string {
  return [
    `em_${hexOf(message.id)}: ${message.status}, tier ${message.tier}, accepted ${message.createdAt.toISOString()}`,
    `From ${message.from.email}: ${message.subject}`,
    ...recipients.flatMap(({ recipient, holds, until }) => [
      '', `${recipient.address}  ${holds}${until === null ? '' : `, until ${until.toISOString()}`}`,
      ...recipient.attempts.flatMap(attemptLines),
    ]),
    '', 'Events', ...message.events.map(({ sequence, createdAt, type, recipient }) => `  ${sequence}  ${createdAt.toISOString()}  ${type}  ${recipient}`),
  ].map((line) => line.replace(/\p{Cc}/gu, '?')).join('\n')
}

function attemptLines(attempt: AttemptView): string[] {
  const where = attempt.host === null ? '' : ` at ${attempt.host} [${attempt.address ?? ''}]${attempt.tls === null ? '' : `, ${attempt.tls}`}`
  return [`  attempt ${attempt.attempt}, ${attempt.at.toISOString()}: ${attempt.outcome}${where}, ${attempt.durationMs} ms`, ...attempt.conversation.split('\n').map((line) => `    ${line}`)]
}

function jsonOf({ message, recipients }: Explanation): object {
  return {
    email_id: `em_${hexOf(message.id)}`, status: message.status, tier: message.tier, from: message.from.email, subject: message.subject, created_at: message.createdAt,
    recipients: recipients.map(({ recipient, holds, until }) => ({
      address: recipient.address, state: recipient.state, holds, until, tries: recipient.tries,
      attempts: recipient.attempts.map((attempt) => ({
        attempt: attempt.attempt, at: attempt.at, outcome: attempt.outcome, scope: attempt.scope, reason: attempt.reason, code: attempt.replyCode, status: attempt.replyStatus,
        text: attempt.replyText, host: attempt.host, address: attempt.address, tls: attempt.tls, duration_ms: attempt.durationMs, conversation: attempt.conversation,
      })),
    })),
    events: message.events.map(({ sequence, type, recipient, data, createdAt }) => ({ sequence, type, recipient, data, created_at: createdAt })),
  }
}
