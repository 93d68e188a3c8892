/**
 * All steps of an automation are due at the same time; meanwhile instant mail goes to another site. Measures the time
 * until every step is dispatched, and the latency of the instant mail.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { waitForArrivals, countViolations, peakMemory } from '#bench/harness/contender.ts'
import { readUsage, resetPeaks } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import type { AdminAccess } from '#bench/harness/mailstead.ts'
import { call } from '#bench/harness/api-call.ts'
import { importAudience } from './audience.ts'
import { latencies, type Latencies } from './latency.ts'

export interface AutomationsResult {
  readonly steps: number
  /** From the due time until the last step is dispatched. */
  readonly seconds: number
  /** Instant mail to another site meanwhile, accept to 250. */
  readonly instant: Latencies
  readonly peakMb: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

const POLL_MS = 100
const INTERVAL_MS = 100
const OTHER_SITE = 'other.example'
/** Time to create the automation: the threads that validate its mails have to start. */
const AHEAD_MS = 15_000

export async function runAutomations(bench: MailsteadBench): Promise<AutomationsResult> {
  const { mailstead, sizes, receiver, otherReceiver } = bench
  try {
    await mailstead.start(['api', 'mta', 'worker'], { '*': receiver.port, [OTHER_SITE]: otherReceiver.port })
    const { admin } = mailstead
    const from = mailstead.reserve(sizes.automationSteps)
    const audience = await importAudience(admin, from, sizes.automationSteps)
    bench.say(`  ${sizes.automationSteps} contacts are enrolled at the due time`)
    await receiver.sink.begin({ from, count: sizes.automationSteps, hasNumberedBody: false })
    const probes = mailstead.reserve(sizes.automationProbes)
    await otherReceiver.sink.begin({ from: probes, count: sizes.automationProbes, hasNumberedBody: true })
    resetPeaks(mailstead.groups())
    const atMs = Date.now() + AHEAD_MS
    const id = await createAutomation(admin, audience, atMs)
    await sleep(atMs - Date.now())
    const [doneMs, sent] = await Promise.all([
      waitForSteps(admin, id, sizes.automationSteps),
      mailstead.probe({ from: probes, count: sizes.automationProbes, intervalMs: INTERVAL_MS, site: OTHER_SITE }),
    ])
    await waitForArrivals(otherReceiver.sink, sizes.automationProbes)
    const arrivals = await otherReceiver.sink.arrivals()
    const peakMb = peakMemory(readUsage(mailstead.groups()))
    const violations = countViolations({ count: sizes.automationProbes }, await otherReceiver.sink.finish())
    await waitForArrivals(receiver.sink, sizes.automationSteps)
    return {
      steps: sizes.automationSteps,
      seconds: (doneMs - atMs) / 1000,
      instant: latencies(sent, arrivals, probes).fromAccept,
      peakMb,
      violations: [
        ...violations,
        ...countViolations({ count: sizes.automationSteps }, await receiver.sink.finish()),
      ].map((one) => `automations: ${one}`),
    }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
  }
}

async function createAutomation(admin: AdminAccess, audience: string, atMs: number): Promise<string> {
  const { id } = await call<{ id: string }>(
    admin,
    'POST',
    '/automations/create',
    JSON.stringify({
      name: 'bench',
      status: 'active',
      trigger: { type: 'date_time', at: new Date(atMs).toISOString(), audience_id: audience },
      steps: [
        { type: 'add_tag', tag: 'bench' },
        {
          type: 'send_email',
          from: SENDER,
          subject: 'Hello {{firstName}}',
          body: '<p>Hello {{firstName}}, <a href="{{unsubscribeUrl}}">leave</a></p>',
        },
      ],
    }),
  )
  return id
}

/** Waits until all are completed; returns the time in epoch milliseconds. */
async function waitForSteps(admin: AdminAccess, id: string, count: number): Promise<number> {
  for (;;) {
    const automation = await call<{ completed_count: number }>(admin, 'GET', `/automations/${id}`, null)
    if (automation.completed_count >= count) return Date.now()
    await sleep(POLL_MS)
  }
}
