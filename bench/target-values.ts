/** Values that the targets read from the results of several rounds, phases or servers. Null: not measured. */
import { bareRatios } from '#bench/scenarios/api.ts'
import type { Measurement } from '#bench/harness/contender.ts'
import type { MailMix } from '#bench/mails/mail-mix.ts'
import type { ServerComparison } from '#bench/scenarios/compare.ts'
import type { TrackingRun } from '#bench/scenarios/tracking.ts'
import { spread } from '#bench/harness/stats.ts'
import type { BenchResults } from './results.ts'

/** Mailstead's rate divided by a reference's, for each repeat; null when either was not measured. */
export function rateRatios(compared: readonly ServerComparison[] | undefined, reference: string): number[] | null {
  const ours = compared?.find(({ name }) => name === 'Mailstead')?.runs
  const theirs = compared?.find(({ name }) => name === reference)?.runs
  if (ours === undefined || theirs === undefined) return null
  return ours.flatMap((run, repeat) => {
    const other = theirs[repeat]?.deliveredRate
    return other === undefined ? [] : [run.deliveredRate / other]
  })
}

/** CPU of all processes of a server for one message, in RSA-2048 signatures of the same run. */
export function signaturesOf({ cpuMs, signatureMs }: Measurement): number {
  return (cpuMs['server'] ?? 0) / signatureMs
}

/** The same as a median of the row of one load; null when it was not measured. */
export function costInSignatures(compared: readonly ServerComparison[] | undefined, mix: MailMix): number | null {
  const ours = compared?.find((row) => row.name.startsWith('Mailstead') && row.mix === mix)
  return ours === undefined || ours.runs.length === 0 ? null : spread(ours.runs.map(signaturesOf)).median
}

export function medianOf(tracking: BenchResults['tracking'], of: (run: TrackingRun) => number): number | null {
  return tracking === undefined ? null : spread(tracking.runs.map(of)).median
}

export function ratioOf(compared: readonly ServerComparison[] | undefined, reference: string): number | null {
  const values = rateRatios(compared, reference)
  return values === null || values.length === 0 ? null : spread(values).median
}

/** The worst p99 of the phases; NaN when the queue ran empty in one, because that phase shows nothing. */
export function worstPhase(backlog: BenchResults['backlog'], site: 'sameSite' | 'otherSite'): number | null {
  if (backlog === undefined) return null
  return Math.max(...backlog.phases.map((phase) => (phase.queuedAtEnd > 0 ? phase[site].p99Ms : Number.NaN)))
}

/** From the first byte of the file to the last row. */
export function secondsPerMillion(run: BenchResults['import']): number | null {
  return run === undefined ? null : ((run.uploadSeconds + run.importSeconds) * 1e6) / run.rows
}

/** The median over the rounds, each compared with the bare stack's round next to it. */
export function bareRatio(api: BenchResults['api'], name: string): number | null {
  const work = api?.comparisons.find((one) => one.name === name)
  return work === undefined ? null : spread(bareRatios(work)).median
}

export function acceptP99(api: BenchResults['api']): number | null {
  const work = api?.comparisons.find(({ name }) => name === 'accept')
  return work === undefined ? null : spread(work.ours.map(({ p99Ms }) => p99Ms)).median
}

/**
 * How much more a message costs with a long queue: compared with a short queue and with the end of the same drain; the
 * worse of the two.
 */
export function depthGrowth(depth: BenchResults['depth'], what: 'cpuMs' | 'rate'): number | null {
  if (depth === undefined) return null
  const { shallow, deepFirst, deepLast } = depth
  return Math.max(
    ...[shallow, deepLast].map((short) =>
      what === 'cpuMs' ? deepFirst.cpuMs / short.cpuMs : short.rate / deepFirst.rate,
    ),
  )
}
