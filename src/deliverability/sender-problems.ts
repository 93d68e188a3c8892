/** Problems of our own side: sources, workspaces, names, DMARC. See the table in action-rules.ts. Pure. */
import { countText } from '#src/platform/plural.ts'
import type { Problem } from './action-rules.ts'
import { numberText, shareText } from './evidence-text.ts'
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
      title: `The address of ${source.name} is on no machine.`,
      todo: `Add ${source.address} to a machine that sends, or remove the source.`,
      evidence: [mailOf(source)],
      reply: null,
      since: source.goneSince,
      volume: source.day.sent,
    }))
  const waiting = notices
    .filter(({ kind }) => kind === 'no-node-source')
    .map(({ subject, text, firstSeen, count }) => ({
      subject,
      title: text,
      todo: 'Start a node that has a source of the pool, or add a source to it.',
      evidence: [],
      reply: null,
      since: firstSeen,
      volume: count,
    }))
  return [...waiting, ...gone]
}

export function findExpiredCertificates({ certificates, at }: Desk): Problem[] {
  return certificates.filter(({ expiresAt }) => expiresAt <= at).map((one) => aboutCertificate(one, 'has expired'))
}

export function findExpiringCertificates({ certificates, at }: Desk): Problem[] {
  return certificates
    .filter(({ expiresAt }) => expiresAt > at && expiresAt.getTime() < at.getTime() + EXPIRING_MS)
    .map((one) => aboutCertificate(one, 'expires soon'))
}

function aboutCertificate({ name, expiresAt }: CertificateDesk, what: string): Problem {
  return {
    subject: name,
    title: `The certificate of ${name} ${what}.`,
    todo: 'Read why it is not renewed: mailstead certificate list',
    evidence: [`expires at ${expiresAt.toISOString()}`],
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
      title: `A blocklist has the address of ${source.name}.`,
      evidence: [
        problem.detail,
        mailOf(source),
        ...(first === undefined
          ? []
          : [`${first.receiver.title} refused or deferred ${countText(count, 'attempt')} in 24 hours`]),
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
    title: `${source.name}: ${detail}.`,
    todo: `${todo.charAt(0).toUpperCase()}${todo.slice(1)}.`,
    evidence: [detail, mailOf(source)],
    reply: null,
    since,
    volume: source.day.sent,
  }
}

function mailOf({ day }: SourceDesk): string {
  return `sent in 24 hours: ${numberText(day.sent)}`
}

export function findManyBounces({ senders, isOfWorkspace }: Desk): Problem[] {
  return senders.flatMap(({ name, week }) => {
    const volume = volumeOf({ ...week, deferred: 0 })
    if (volume < LEAST_MAIL || week.bounced_hard / volume <= BOUNCED_SHARE) return []
    return [
      {
        subject: name,
        title: `Too many addresses of ${name} do not exist.`,
        todo: isOfWorkspace
          ? 'Find the list that the addresses come from, and send only to people who confirmed theirs.'
          : 'Ask the workspace where its addresses come from; pause it if nobody knows.',
        evidence: [`hard bounces of 7 days: ${shareText(week.bounced_hard, volume)}`],
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
      title: `Mail of ${one.domain} from ${one.source} fails DMARC.`,
      todo: `Check the DKIM records and the MAIL FROM domain of ${one.domain}: one of them must pass for it.`,
    }))
}

export function findUnknownSenders({ dmarc }: Desk): Problem[] {
  return dmarc
    .filter(({ source, failed }) => source === null && failed >= LEAST_DMARC)
    .map((one) => ({
      ...aboutDmarc(one),
      title: `${one.address} sends mail of ${one.domain} that fails DMARC.`,
      todo:
        `Find out who sends it. A service of yours: have it sign with DKIM for ${one.domain}. ` +
        'A forger: set a stricter policy in the DMARC record.',
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
    evidence: [`failed in 7 days: ${shareText(failed, messages)}`, `most of it reported by ${reporter}`],
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
      title: 'A receiver reports a problem that only the operator can fix.',
      todo: 'Do what the reply says, and acknowledge the notice: mailstead notices',
      evidence: [countText(count, 'reply', 'replies')],
      reply: text,
      since: firstSeen,
      volume: count,
    }))
}
