/** Problems at receivers, found in the facts of the desk: see the table in action-rules.ts. Pure. */
import { countText } from '#src/platform/plural.ts'
import type { Problem } from './action-rules.ts'
import { numberText, shareText } from './evidence-text.ts'
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
        title: `Mail to ${receiver.title} is suspended${fromSource(throttle)}.`,
        todo: 'Correct what the reply names before mail is sent again; it resumes by itself at the end of the time.',
        evidence: [
          `until ${throttle.until?.toISOString() ?? 'the operator resumes it'}`,
          ...(throttle.rule === null ? [] : [`by the rule ${throttle.rule}`]),
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
        title: `${receiver.title} accepts fewer connections than planned${fromSource(throttle)}.`,
        todo: 'Nothing, if mail arrives in time: the limit rises by itself. Else lower the limit in the shaping file.',
        evidence: [`${countText(throttle.connections ?? 0, 'connection')} at a time`, dayText(receiver)],
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

function fromSource({ source }: Throttle): string {
  return source === null ? '' : ` from ${source}`
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
        title: `Recipients at ${title} report too much mail as spam.`,
        todo:
          'Find the campaign or workspace with the complaints, stop it, and send only to people who asked for it. ' +
          'Raise the volume again when the rate is below 0.1 %.',
        evidence: [`complaints of 7 days: ${shareText(week.complained, week.delivered)}`, `limit: ${limit * 100} %`],
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
        title: `${receiver.title} refuses or defers mail because of its sender.`,
        todo: 'Read the reply: it names the reason, and often a page with the form to ask for help.',
        evidence: [`attempts of 24 hours: ${shareText(count, volumeOf(receiver.day))}`, classesText(reasons)],
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
        title: `Mail to ${receiver.title} waits because TLS fails.`,
        todo: 'Compare its MTA-STS policy, its TLSA records and its certificate; tell its postmaster what is wrong.',
        evidence: [
          `attempts of 24 hours: ${numberText(sizeOf(reasons))}`,
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
        title: `${title} defers much of its mail.`,
        todo: 'Read the reply. If it asks for less mail, lower the rate of this receiver in the shaping file.',
        evidence: [`deferrals of 24 hours: ${shareText(day.deferred, whole)}`, classesText(deferring)],
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
        title: `${source} has sent what its warm-up allows at ${title} today.`,
        todo: 'Nothing: the rest is sent tomorrow. Add sources to the pool if it must leave today.',
        evidence: [`step ${day} of the warm-up: ${numberText(taken)} of ${numberText(allowance)}`],
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
        title: `Mail to ${title} is sent without TLS.`,
        todo: 'Ask its postmaster for STARTTLS, or set a TLS level for its domains if its mail must be encrypted.',
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

function classesText(reasons: readonly Reason[]): string {
  return `reasons: ${reasons
    .slice(0, 3)
    .map((one) => `${one.class} ${numberText(one.deferred + one.bounced)}`)
    .join(', ')}`
}

function encryptedText({ encrypted, day }: ReceiverDesk): string {
  return `sent over TLS in 24 hours: ${shareText(encrypted, day.sent)}`
}

function dayText({ day }: ReceiverDesk): string {
  return `24 hours: ${numberText(day.delivered)} delivered, ${numberText(day.deferred)} deferred`
}
