/** Problems at receivers, found in the facts of the desk: see the table in action-rules.ts. Pure. */
import type { CodedText } from '#src/platform/coded-text.ts'
import type { Problem } from './action-rules.ts'
import { actionText, evidenceText } from './action-texts.ts'
import { numberText, shareOf } from './evidence-text.ts'
import type { Desk, Reason, ReceiverDesk, Throttle, Traffic } from './facts.ts'

/** What Google and Yahoo publish: stay below 0.1 %, and never reach 0.3 %. */
const COMPLAINTS = { ask: 0.001, act: 0.003 } as const
/** Fewer say nothing. */
const LEAST_COMPLAINTS = 3
const LEAST_MAIL = 100
const REFUSED_SHARE = 0.05
const DEFERRED_SHARE = 0.2
const PLAIN_SHARE = 0.1

/** Classes of replies that are about the sender, its address or its reputation. */
export const SENDER_CLASSES: ReadonlySet<string> = new Set(['blocked', 'policy', 'sender-refused', 'greeting-refused'])
const TLS_CLASSES: ReadonlySet<string> = new Set(['tls', 'starttls', 'tls-policy'])

export function findSuspended({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const throttle = receiver.throttles.find(({ state }) => state === 'suspended')
    if (throttle === undefined) return []
    return [
      {
        ...aboutThrottle(receiver, throttle),
        title:
          throttle.source === null
            ? actionText('suspended', { receiver: receiver.title })
            : actionText('suspended_from', { receiver: receiver.title, source: throttle.source }),
        todo: actionText('suspended_todo'),
        evidence: [
          throttle.until === null
            ? evidenceText('until_resumed')
            : evidenceText('until', { at: throttle.until.toISOString() }),
          ...(throttle.rule === null ? [] : [evidenceText('rule', { rule: throttle.rule })]),
          dayText(receiver),
        ],
      },
    ]
  })
}

export function findSlowed({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const throttle = receiver.throttles.find(({ state }) => state === 'slowed')
    if (throttle === undefined) return []
    return [
      {
        ...aboutThrottle(receiver, throttle),
        title:
          throttle.source === null
            ? actionText('slowed', { receiver: receiver.title })
            : actionText('slowed_from', { receiver: receiver.title, source: throttle.source }),
        todo: actionText('slowed_todo'),
        evidence: [evidenceText('connections', { count: throttle.connections ?? 0 }), dayText(receiver)],
      },
    ]
  })
}

function aboutThrottle(
  receiver: ReceiverDesk,
  { reply, since }: Throttle,
): Pick<Problem, 'subject' | 'reply' | 'since' | 'volume'> {
  return { subject: receiver.title, reply, since, volume: volumeOf(receiver.day) }
}

export function findManyComplaints(desk: Desk): Problem[] {
  return complaintsAbove(desk, COMPLAINTS.act)
}

export function findComplaints(desk: Desk): Problem[] {
  return complaintsAbove(desk, COMPLAINTS.ask)
}

function complaintsAbove({ receivers }: Desk, limit: number): Problem[] {
  return receivers.flatMap((receiver) => {
    const { week, title } = receiver
    if (week.complained < LEAST_COMPLAINTS || week.delivered < LEAST_MAIL) return []
    if (week.complained / week.delivered <= limit) return []
    return [
      {
        subject: title,
        title: actionText('complaints', { receiver: title }),
        todo: actionText('complaints_todo'),
        evidence: [
          evidenceText('complaints', shareOf(week.complained, week.delivered)),
          evidenceText('limit', { percent: limit * 100 }),
        ],
        reply: null,
        since: receiver.days.find(({ traffic }) => traffic.complained > 0)?.at ?? null,
        volume: week.complained,
      },
    ]
  })
}

export function findRefused({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const reasons = receiver.reasons.filter((reason) => SENDER_CLASSES.has(reason.class))
    const count = sizeOf(reasons)
    if (count < LEAST_MAIL / 10 || count / volumeOf(receiver.day) <= REFUSED_SHARE) return []
    return [
      {
        ...aboutReasons(receiver, reasons),
        title: actionText('refused', { receiver: receiver.title }),
        todo: actionText('refused_todo'),
        evidence: [evidenceText('attempts', shareOf(count, volumeOf(receiver.day))), classesText(reasons)],
      },
    ]
  })
}

export function findTlsFailures({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const reasons = receiver.reasons.filter((reason) => TLS_CLASSES.has(reason.class))
    if (sizeOf(reasons) === 0) return []
    return [
      {
        ...aboutReasons(receiver, reasons),
        title: actionText('tls_failing', { receiver: receiver.title }),
        todo: actionText('tls_failing_todo'),
        evidence: [
          evidenceText('attempt_count', { count: numberText(sizeOf(reasons)) }),
          classesText(reasons),
          encryptedText(receiver),
        ],
      },
    ]
  })
}

export function findManyDeferrals({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const { day, title, reasons } = receiver
    const whole = day.delivered + day.deferred
    if (day.deferred < LEAST_MAIL / 10 || day.deferred / whole <= DEFERRED_SHARE) return []
    const deferring = reasons.filter(({ deferred }) => deferred > 0)
    return [
      {
        ...aboutReasons(receiver, deferring),
        title: actionText('many_deferrals', { receiver: title }),
        todo: actionText('many_deferrals_todo'),
        evidence: [evidenceText('deferrals', shareOf(day.deferred, whole)), classesText(deferring)],
      },
    ]
  })
}

function aboutReasons(
  receiver: ReceiverDesk,
  reasons: readonly Reason[],
): Pick<Problem, 'subject' | 'reply' | 'since' | 'volume'> {
  const [first] = reasons.filter(({ reply }) => reply !== null)
  return { subject: receiver.title, reply: first?.reply ?? null, since: first?.since ?? null, volume: sizeOf(reasons) }
}

export function findWarmUpLimits({ receivers }: Desk): Problem[] {
  return receivers.flatMap(({ title, warmUps }) =>
    warmUps
      .filter(({ taken, allowance }) => taken >= allowance)
      .map(({ source, day, taken, allowance }) => ({
        subject: `${source} at ${title}`,
        title: actionText('warm_up_limit', { source, receiver: title }),
        todo: actionText('warm_up_limit_todo'),
        evidence: [evidenceText('warm_up', { step: day, taken: numberText(taken), allowance: numberText(allowance) })],
        reply: null,
        since: null,
        volume: taken,
      })),
  )
}

export function findUnencrypted({ receivers }: Desk): Problem[] {
  return receivers.flatMap((receiver) => {
    const { day, encrypted, title } = receiver
    if (day.sent < LEAST_MAIL || encrypted >= day.sent * (1 - PLAIN_SHARE)) return []
    return [
      {
        subject: title,
        title: actionText('unencrypted', { receiver: title }),
        todo: actionText('unencrypted_todo'),
        evidence: [encryptedText(receiver)],
        reply: null,
        since: null,
        volume: day.sent - encrypted,
      },
    ]
  })
}

/** Attempts with a result. */
export function volumeOf({ delivered, deferred, bounced_hard: hard, bounced_soft: soft }: Traffic): number {
  return delivered + deferred + hard + soft
}

function sizeOf(reasons: readonly Reason[]): number {
  return reasons.reduce((sum, { deferred, bounced }) => sum + deferred + bounced, 0)
}

function classesText(reasons: readonly Reason[]): CodedText {
  const names = reasons.slice(0, 3).map((one) => `${one.class} ${numberText(one.deferred + one.bounced)}`)
  return evidenceText('reasons', { reasons: names.join(', ') })
}

function encryptedText({ encrypted, day }: ReceiverDesk): CodedText {
  return evidenceText('encrypted', shareOf(encrypted, day.sent))
}

function dayText({ day }: ReceiverDesk): CodedText {
  return evidenceText('day', { delivered: numberText(day.delivered), deferred: numberText(day.deferred) })
}
