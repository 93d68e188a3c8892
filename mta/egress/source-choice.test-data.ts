/** Attempts of a source, by their outcome. */
import { composeReply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'

const REPLY = composeReply(250, '2.0.0', 'ok')

export function attemptBy(source: string | null, outcome: Outcome = { kind: 'delivered', reply: REPLY }): Attempt {
  return {
    outcome,
    source,
    host: 'mx.google.com',
    address: '192.0.2.1',
    tls: null,
    startedAt: 0,
    durationMs: 1,
    conversation: '',
  }
}

export const THROTTLED: Extract<Outcome, { kind: 'deferred' }> = {
  kind: 'deferred',
  scope: 'destination',
  reason: 'busy',
  detail: '',
  reply: composeReply(450, '4.7.0', 'slow down'),
  isCounted: true,
}

export const UNREACHABLE: Outcome = {
  ...THROTTLED,
  scope: 'host',
  reason: 'unreachable',
  reply: null,
  isCounted: false,
}
