/** Problems of our own side: sources, workspaces, names, DMARC. See the table in action-rules.ts. Pure. */
import type { CodedText } from '#src/platform/coded-text.ts'
import type { Problem } from './action-rules.ts'
import { actionText, evidenceText } from './action-texts.ts'
import { numberText, shareOf } from './evidence-text.ts'
import type { CertificateDesk, Desk, DmarcFailure, SourceDesk, SourceProblem } from './facts.ts'
import { SENDER_CLASSES, volumeOf } from './receiver-problems.ts'

const BOUNCED_SHARE = 0.05
/** Fewer messages say nothing. */
const LEAST_MAIL = 200
const LEAST_DMARC = 100
const EXPIRING_MS = 7 * 86_400_000

export function findMissingSources({ sources, notices }: Desk): Problem[] {
  const gone = sources
    .filter(({ state }) => state === 'gone')
    .map((source) => ({
      subject: source.name,
      title: actionText('source_gone', { source: source.name }),
      todo: actionText('source_gone_todo', { address: source.address }),
      evidence: [mailOf(source)],
      reply: null,
      since: source.goneSince,
      volume: source.day.sent,
    }))
  const waiting = notices
    .filter(({ kind }) => kind === 'no-node-source')
    .map(({ subject, text, firstSeen, count }) => ({
      subject,
      title: { text },
      todo: actionText('no_source_todo'),
      evidence: [],
      reply: null,
      since: firstSeen,
      volume: count,
    }))
  return [...waiting, ...gone]
}

export function findExpiredCertificates({ certificates, at }: Desk): Problem[] {
  return certificates
    .filter(({ expiresAt }) => expiresAt <= at)
    .map((one) => aboutCertificate(one, 'certificate_expired'))
}

export function findExpiringCertificates({ certificates, at }: Desk): Problem[] {
  return certificates
    .filter(({ expiresAt }) => expiresAt > at && expiresAt.getTime() < at.getTime() + EXPIRING_MS)
    .map((one) => aboutCertificate(one, 'certificate_expiring'))
}

function aboutCertificate(
  { name, expiresAt }: CertificateDesk,
  code: 'certificate_expired' | 'certificate_expiring',
): Problem {
  return {
    subject: name,
    title: actionText(code, { name }),
    todo: actionText('certificate_todo'),
    evidence: [evidenceText('expires', { at: expiresAt.toISOString() })],
    reply: null,
    since: expiresAt,
    volume: 0,
  }
}

export function findListedAndRefused(desk: Desk): Problem[] {
  return listed(desk).filter(({ reply }) => reply !== null)
}

export function findListed(desk: Desk): Problem[] {
  return listed(desk).filter(({ reply }) => reply === null)
}

/** With the reply of a receiver that refuses mail of the source for its reputation, if there is one. */
function listed({ sources, receivers }: Desk): Problem[] {
  return problemsOf(sources, ['blocklists'], ['failed', 'warning']).map(({ source, problem }) => {
    const refusing = receivers.flatMap((receiver) =>
      receiver.sources.some(({ name, traffic }) => name === source.name && traffic.deferred + traffic.bounced_soft > 0)
        ? receiver.reasons
            .filter((reason) => SENDER_CLASSES.has(reason.class) && reason.reply !== null)
            .map((reason) => ({ receiver, reason }))
        : [],
    )
    const [first] = refusing
    const count = refusing.reduce((sum, { reason }) => sum + reason.deferred + reason.bounced, 0)
    return {
      ...aboutSource(source, problem),
      title: actionText('listed', { source: source.name }),
      evidence: [
        { text: problem.detail },
        mailOf(source),
        ...(first === undefined
          ? []
          : [evidenceText('refused_attempts', { receiver: first.receiver.title, attempts: count })]),
      ],
      reply: first?.reason.reply ?? null,
      volume: count || source.day.sent,
    }
  })
}

export function findFailedCheck({ sources }: Desk, checks: readonly string[]): Problem[] {
  return problemsOf(sources, checks, ['failed']).map(({ source, problem }) => aboutSource(source, problem))
}

interface FoundProblem {
  readonly source: SourceDesk
  readonly problem: SourceProblem
}

/** Of sources that send. */
function problemsOf(
  sources: readonly SourceDesk[],
  checks: readonly string[],
  statuses: readonly SourceProblem['status'][],
): FoundProblem[] {
  return sources
    .filter(({ state }) => state === 'active' || state === 'warming')
    .flatMap((source) =>
      source.problems
        .filter(({ check, status }) => checks.includes(check) && statuses.includes(status))
        .slice(0, 1)
        .map((problem) => ({ source, problem })),
    )
}

function aboutSource(source: SourceDesk, { detail, todo, since }: SourceProblem): Problem {
  return {
    subject: source.name,
    title: { text: `${source.name}: ${detail}.` },
    todo: { text: `${todo.charAt(0).toUpperCase()}${todo.slice(1)}.` },
    evidence: [{ text: detail }, mailOf(source)],
    reply: null,
    since,
    volume: source.day.sent,
  }
}

function mailOf({ day }: SourceDesk): CodedText {
  return evidenceText('sent', { count: numberText(day.sent) })
}

export function findManyBounces({ senders, isOfWorkspace }: Desk): Problem[] {
  return senders.flatMap(({ name, week }) => {
    const volume = volumeOf({ ...week, deferred: 0 })
    if (volume < LEAST_MAIL || week.bounced_hard / volume <= BOUNCED_SHARE) return []
    return [
      {
        subject: name,
        title: actionText('many_bounces', { sender: name }),
        todo: actionText(isOfWorkspace ? 'many_bounces_todo' : 'many_bounces_todo_of_operator'),
        evidence: [evidenceText('hard_bounces', shareOf(week.bounced_hard, volume))],
        reply: null,
        since: null,
        volume: week.bounced_hard,
      },
    ]
  })
}

export function findDmarcFailures({ dmarc }: Desk): Problem[] {
  return dmarc
    .filter(({ source, failed }) => source !== null && failed >= LEAST_DMARC)
    .map((one) => ({
      ...aboutDmarc(one),
      title: actionText('dmarc_failing', { domain: one.domain, source: one.source ?? one.address }),
      todo: actionText('dmarc_failing_todo', { domain: one.domain }),
    }))
}

export function findUnknownSenders({ dmarc }: Desk): Problem[] {
  return dmarc
    .filter(({ source, failed }) => source === null && failed >= LEAST_DMARC)
    .map((one) => ({
      ...aboutDmarc(one),
      title: actionText('dmarc_unknown', { address: one.address, domain: one.domain }),
      todo: actionText('dmarc_unknown_todo', { domain: one.domain }),
    }))
}

function aboutDmarc({
  domain,
  address,
  messages,
  failed,
  reporter,
  since,
}: DmarcFailure): Omit<Problem, 'title' | 'todo'> {
  return {
    subject: `${domain} from ${address}`,
    evidence: [evidenceText('dmarc_failed', shareOf(failed, messages)), evidenceText('reporter', { reporter })],
    reply: null,
    since,
    volume: failed,
  }
}

export function findReplyNotices({ notices }: Desk): Problem[] {
  return notices
    .filter(({ kind }) => kind === 'reply')
    .map(({ subject, text, count, firstSeen }) => ({
      subject,
      title: actionText('operator_reply'),
      todo: actionText('operator_reply_todo'),
      evidence: [evidenceText('replies', { count })],
      reply: text,
      since: firstSeen,
      volume: count,
    }))
}
