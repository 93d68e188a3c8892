/**
 * Simulator addresses: the local part selects the outcome, at any domain (`bounce-5.1.1@anything`). Case and
 * sub-address do not matter (`Defer-3+monday@`). `docs/guides/sandbox.md` lists this table; a test compares both.
 */
import type { Config } from '#config/load.ts'

export type SimulatedAction =
  /** Rejects the recipient with this reply. */
  | { readonly kind: 'reject'; readonly code: number; readonly text: string }
  /** Defers each recipient of each message this many times. */
  | { readonly kind: 'defer'; readonly times: number }
  /** Closes the connection instead of the final reply, once for each recipient of each message. */
  | { readonly kind: 'drop'; readonly isStored: boolean }
  | { readonly kind: 'delay'; readonly seconds: number }
  /** Accepts the mail and sends a report about it later; `text` is the SMTP reply that the report quotes. */
  | {
      readonly kind: 'report'
      readonly type: 'bounce' | 'complaint' | 'opt-out'
      readonly status: string
      readonly text: string
    }
  | { readonly kind: 'accept' }

interface Simulator {
  /** As the documentation writes it. */
  readonly address: string
  readonly pattern: RegExp
  /** One sentence: what the receiver does. */
  readonly description: string
  readonly actionFor: (found: readonly string[]) => SimulatedAction
}

const MAX_DELAY_SECONDS = 600

export const SIMULATORS: readonly Simulator[] = [
  {
    address: 'bounce@',
    pattern: /^bounce$/,
    description: 'refuses the recipient: 550 5.1.1 No such user.',
    actionFor: () => refusal('5.1.1'),
  },
  {
    address: 'bounce-5.1.1@',
    pattern: /^bounce-(5\.\d{1,3}\.\d{1,3})$/,
    description:
      'refuses the recipient with that enhanced code (any 5.x.x) and the matching reply code: ' +
      '552 for 5.2.2, 554 for 5.7.1.',
    actionFor: ([status = '5.0.0']) => refusal(status),
  },
  {
    address: 'defer@',
    pattern: /^defer$/,
    description: 'defers the recipient, always: 450 4.2.1.',
    actionFor: () => ({ kind: 'defer', times: Infinity }),
  },
  {
    address: 'defer-3@',
    pattern: /^defer-(\d{1,3})$/,
    description: 'defers each message that many times (0 to 999), then accepts it.',
    actionFor: ([times]) => ({ kind: 'defer', times: Number(times) }),
  },
  {
    address: 'slow-5@',
    pattern: /^slow-(\d{1,3})$/,
    description: 'accepts the mail, but sends the last reply after that many seconds (up to 600).',
    actionFor: ([seconds]) => ({ kind: 'delay', seconds: Math.min(Number(seconds), MAX_DELAY_SECONDS) }),
  },
  {
    address: 'drop-after-dot@',
    pattern: /^drop-after-dot$/,
    description:
      'closes the connection after the final dot without a reply and stores nothing; ' +
      'accepts a second attempt of the same message.',
    actionFor: () => ({ kind: 'drop', isStored: false }),
  },
  {
    address: 'drop-after-keep@',
    pattern: /^drop-after-keep$/,
    description:
      'stores the mail, then closes the connection without a reply; ' +
      'accepts a second attempt of the same message, as a second copy.',
    actionFor: () => ({ kind: 'drop', isStored: true }),
  },
  {
    address: 'late-bounce@',
    pattern: /^late-bounce$/,
    description: 'accepts the mail; a bounce with 5.1.1 comes back later.',
    actionFor: () => lateBounce('5.1.1'),
  },
  {
    address: 'late-bounce-5.2.2@',
    pattern: /^late-bounce-(5\.\d{1,3}\.\d{1,3})$/,
    description: 'accepts the mail; a bounce with that enhanced code (any 5.x.x) comes back later.',
    actionFor: ([status = '5.0.0']) => lateBounce(status),
  },
  {
    address: 'complaint@',
    pattern: /^complaint$/,
    description: 'accepts the mail; a complaint of the recipient comes back later.',
    actionFor: () => ({ kind: 'report', type: 'complaint', status: '', text: '' }),
  },
  {
    address: 'unsubscribe@',
    pattern: /^unsubscribe$/,
    description: 'accepts the mail; an unsubscribe request of the recipient comes back later.',
    actionFor: () => ({ kind: 'report', type: 'opt-out', status: '', text: '' }),
  },
]

/** Returns the action for a recipient; `accept` if the address is not a simulator. */
export function simulate(recipient: string): SimulatedAction {
  const [local = ''] = recipient
    .slice(0, Math.max(recipient.lastIndexOf('@'), 0))
    .toLowerCase()
    .split('+')
  for (const { pattern, actionFor: act } of SIMULATORS) {
    const match = pattern.exec(local)
    if (match !== null) return act(match.slice(1))
  }
  return { kind: 'accept' }
}

/** A simulated outcome never adds the address to the suppression list, so that a test can repeat it. */
export function isSimulatedOutcome(config: Pick<Config, 'isSandbox' | 'captureDomain'>, address: string): boolean {
  return address.toLowerCase().endsWith(`@${config.captureDomain}`) || (config.isSandbox && isSimulatedAddress(address))
}

/** True for simulator addresses and simulated domains. */
function isSimulatedAddress(address: string): boolean {
  const [local = ''] = address
    .slice(0, Math.max(address.lastIndexOf('@'), 0))
    .toLowerCase()
    .split('+')
  return address.toLowerCase().endsWith('.mailstead.test') || SIMULATORS.some(({ pattern }) => pattern.test(local))
}

/** Reply code and text for an enhanced code (RFC 3463, RFC 5321 4.2.3). The first matching row applies. */
const REPLIES: readonly (readonly [status: RegExp, code: number, text: string])[] = [
  [/^5\.1\.1$/, 550, 'No such user'],
  [/^5\.1\.2$/, 550, 'No such host'],
  [/^5\.1\.3$/, 553, 'Bad address syntax'],
  [/^5\.1\.6$/, 551, 'The mailbox has moved'],
  [/^5\.1\.10$/, 556, 'The domain accepts no mail'],
  [/^5\.1\./, 550, 'Bad address'],
  [/^5\.2\.1$/, 550, 'The mailbox is disabled'],
  [/^5\.2\.2$/, 552, 'The mailbox is full'],
  [/^5\.2\.3$/, 552, 'The message is too long for this mailbox'],
  [/^5\.2\./, 550, 'The mailbox cannot be used'],
  [/^5\.3\.4$/, 552, 'The message is too big'],
  [/^5\.5\./, 503, 'Protocol error'],
  [/^5\.7\.1$/, 554, 'Rejected by policy'],
  [/^5\.7\./, 554, 'Rejected for security or policy'],
  [/^/, 554, 'Refused'],
]

function refusal(status: string): SimulatedAction {
  const { code, text } = replyFor(status)
  return { kind: 'reject', code, text }
}

function lateBounce(status: string): SimulatedAction {
  const { code, text } = replyFor(status)
  return { kind: 'report', type: 'bounce', status, text: `${code} ${text}` }
}

function replyFor(status: string): { readonly code: number; readonly text: string } {
  const [, code, text] = REPLIES.find(([fits]) => fits.test(status)) ?? [/^/, 554, 'Refused']
  return { code, text: `${status} ${text} (simulated)` }
}
