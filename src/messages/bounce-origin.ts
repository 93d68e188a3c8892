/**
 * Says who decided that a bounced recipient cannot be reached: its receiver, DNS, or Mailstead, which does not send a
 * message that the server said it would refuse (its size, SMTPUTF8). Reads the stored attempts. Pure.
 */
import { LOCAL_REFUSAL } from '#src/mail/reply.ts'
import type { AttemptView } from './read.ts'

/** The sentence for the state `bounced`. */
export function describeBounce(attempts: readonly Pick<AttemptView, 'outcome' | 'host' | 'conversation'>[]): string {
  const last = attempts.at(-1)
  if (last?.outcome === 'bounced' && last.host === null) return 'not sent, because DNS says that it cannot be delivered'
  return last?.conversation.includes(LOCAL_REFUSAL) === true
    ? 'not sent, because the receiver would refuse it'
    : 'the receiver refused it permanently'
}
