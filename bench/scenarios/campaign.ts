/**
 * A newsletter to a large audience, compared with the same mail sent transactionally in the same run. Measures the time
 * to the first mail, how fast the ledger is written, and how fast mail is sent after that; each mail is rendered for
 * its contact, with tracked links. The campaign is cancelled after enough mails; until then none may arrive twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { monotonicMs } from '#bench/harness/clock.ts'
import { waitForArrivals, cpuPerMessage, measure, peakMemory } from '#bench/harness/contender.ts'
import { readUsage, resetPeaks } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import { newsletter } from '#bench/mails/newsletter.ts'
import { seededRandom } from '#bench/mails/random.ts'
import { asContender, type AdminAccess } from '#bench/harness/mailstead.ts'
import { call } from '#bench/harness/api-call.ts'
import { importAudience } from './audience.ts'

export interface CampaignResult {
  readonly contacts: number
  /** From the start to the first mail at the receiver. */
  readonly firstMailMs: number
  readonly ledgerRowsPerSecond: number
  /** Mails a second after the ledger is written, and transactional mails a second. */
  readonly sendRate: number
  readonly transactionalRate: number
  /** CPU milliseconds a message by process, in the same windows. */
  readonly sendCpuMs: Readonly<Record<string, number>>
  readonly transactionalCpuMs: Readonly<Record<string, number>>
  readonly peakMb: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

const POLL_MS = 50

export async function runCampaign(bench: MailsteadBench): Promise<CampaignResult> {
  const {
    mailstead,
    sizes,
    receiver: { sink, port },
  } = bench
  const transactional = await measureTransactional(bench)
  try {
    await mailstead.start(['api', 'mta', 'worker'], { '*': port })
    const { admin } = mailstead
    const from = mailstead.reserve(sizes.campaignContacts)
    const audience = await importAudience(admin, from, sizes.campaignContacts)
    bench.say(`  ${sizes.campaignContacts} contacts are in the audience`)
    const id = await createCampaign(admin, audience)
    await sink.begin({ from, count: sizes.campaignContacts, hasNumberedBody: false })
    resetPeaks(mailstead.groups())
    const startedAt = monotonicMs()
    await call(admin, 'POST', `/campaigns/${id}/start`, JSON.stringify({ force: true }))
    const [firstAt, writtenAt] = await Promise.all([
      waitForFirst(sink),
      waitForLedger(admin, id, sizes.campaignContacts),
    ])
    const [sent, sentAt, before] = [await sink.progress(), monotonicMs(), readUsage(mailstead.groups())]
    const enough = Math.min(sizes.campaignContacts, sent + sizes.campaignMails)
    await waitForArrivals(sink, enough)
    const count = (await sink.progress()) - sent
    const sendRate = (count * 1000) / (monotonicMs() - sentAt)
    const after = readUsage(mailstead.groups())
    const [sendCpuMs, peakMb] = [withServerTotal(cpuPerMessage(before, after, count)), peakMemory(after)]
    await call(admin, 'POST', `/campaigns/${id}/cancel`, '{}').catch(() => undefined) // it may already be completed
    const { duplicates, unsigned } = await sink.finish()
    return {
      contacts: sizes.campaignContacts,
      firstMailMs: firstAt - startedAt,
      sendRate,
      transactionalRate: transactional.deliveredRate,
      sendCpuMs,
      transactionalCpuMs: transactional.cpuMs,
      peakMb,
      ledgerRowsPerSecond: (sizes.campaignContacts * 1000) / (writtenAt - startedAt),
      violations: [
        ...transactional.violations,
        ...(duplicates > 0 ? [`campaign: ${duplicates} mails delivered twice`] : []),
        ...(unsigned > 0 ? [`campaign: ${unsigned} mails without a signature`] : []),
      ],
    }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
  }
}

/** Adds the sum as `server`, as in the measurements of a contender. */
function withServerTotal(cpuMs: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return { server: Object.values(cpuMs).reduce((sum, one) => sum + one, 0), ...cpuMs }
}

async function measureTransactional({ mailstead, sizes, receiver }: MailsteadBench): ReturnType<typeof measure> {
  const contender = asContender(mailstead)
  try {
    const groups = await contender.start(receiver.port)
    const mix = 'newsletter'
    const warmUp = await measure(contender, groups, receiver.sink, { count: sizes.warmUp, mix })
    const run = await measure(contender, groups, receiver.sink, { count: sizes.campaignMails, mix })
    return { ...run, violations: [...warmUp.violations, ...run.violations] }
  } finally {
    await contender.stop()
  }
}

/** The newsletter of the transactional mail, with a greeting of the template and links that are tracked. */
async function createCampaign(admin: AdminAccess, audience: string): Promise<string> {
  const { html, text } = newsletter(seededRandom(1), 'Hello {{firstName}} of {{company}}')
  const { id } = await call<{ id: string }>(
    admin,
    'POST',
    '/campaigns',
    JSON.stringify({
      name: 'bench',
      subject: 'News for {{firstName}}',
      html: html?.replace('</body>', '<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p></body>'),
      text,
      from: SENDER,
      audience_ids: [audience],
    }),
  )
  return id
}

async function waitForFirst(sink: MailsteadBench['receiver']['sink']): Promise<number> {
  while ((await sink.progress()) === 0) await sleep(POLL_MS)
  return monotonicMs()
}

interface CampaignStatus {
  readonly status: string
  readonly reason: string | null
  readonly metrics: Readonly<Record<string, number>>
}

async function waitForLedger(admin: AdminAccess, id: string, count: number): Promise<number> {
  for (;;) {
    const { status, reason, metrics } = await call<CampaignStatus>(admin, 'GET', `/campaigns/${id}`, null)
    if (metrics['recipients'] === count) return monotonicMs()
    if (status === 'FAILED' || status === 'PAUSED') throw UserError.of(`the campaign is ${status}: ${reason}`)
    await sleep(POLL_MS)
  }
}
