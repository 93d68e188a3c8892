/**
 * What Mailstead must reach, one row each, judged on the results of a run. A
 * target that is missed is shown, and does not fail the benchmark: the machine
 * may be busy. What was not measured has no verdict.
 */
import type { Results } from './results.ts'
import { ratesToBare } from '#bench/scenarios/api.ts'
import type { Compared } from '#bench/scenarios/compare.ts'
import type { TrackingRun } from '#bench/scenarios/tracking.ts'
import { spread } from '#bench/harness/stats.ts'

export interface Verdict {
  readonly target: string
  readonly measured: string
  readonly required: string
  /** What is aimed at beyond the requirement. */
  readonly aim: string
  /** null = it could not be measured. */
  readonly isMet: boolean | null
}

interface Target {
  readonly target: string
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
  readonly aim?: number
  /** null = not measured in this run. */
  readonly measure: (results: Results) => number | null
}

const TARGETS: readonly Target[] = [
  {
    target: 'end to end, times Haraka with DKIM',
    unit: 'x',
    atLeast: 2,
    aim: 4,
    measure: ({ e2e }) => ratioOf(e2e, 'Haraka'),
  },
  {
    target: 'end to end, times Postfix with OpenDKIM',
    unit: 'x',
    atLeast: 3,
    aim: 6,
    measure: ({ e2e }) => ratioOf(e2e, 'Postfix'),
  },
  {
    target: 'SMTP in and out, times Haraka with DKIM',
    unit: 'x',
    atLeast: 2,
    aim: 4,
    measure: ({ smtp }) => ratioOf(smtp, 'Haraka'),
  },
  {
    target: 'SMTP in and out, times Postfix with OpenDKIM',
    unit: 'x',
    atLeast: 3,
    aim: 6,
    measure: ({ smtp }) => ratioOf(smtp, 'Postfix'),
  },
  {
    target: 'idle, accept to 250: p50',
    unit: 'ms',
    atMost: 20,
    measure: ({ latency }) => latency?.fromAccept.p50Ms ?? null,
  },
  {
    target: 'idle, accept to 250: p99',
    unit: 'ms',
    atMost: 100,
    measure: ({ latency }) => latency?.fromAccept.p99Ms ?? null,
  },
  {
    target: 'backlog, instant to the same site: p99',
    unit: 'ms',
    atMost: 2000,
    measure: ({ backlog }) => worstPhase(backlog, 'sameSite'),
  },
  {
    target: 'backlog, instant to another site: p99',
    unit: 'ms',
    atMost: 100,
    measure: ({ backlog }) => worstPhase(backlog, 'otherSite'),
  },
  {
    target: 'backlog, peak memory of the outbound process',
    unit: 'MB',
    atMost: 300,
    measure: ({ backlog }) => backlog?.mtaPeakMb ?? null,
  },
  {
    target: 'tarpits, instant to healthy sites: p99',
    unit: 'ms',
    atMost: 5000,
    measure: ({ tarpits }) => tarpits?.fromAccept.p99Ms ?? null,
  },
  {
    target: 'tarpits, connects to a dead site in a minute',
    unit: 'x',
    atMost: 15,
    measure: ({ tarpits }) => tarpits?.mostConnectsAMinute ?? null,
  },
  {
    target: 'tarpits, sockets of the outbound process',
    unit: 'x',
    atMost: 550,
    measure: ({ tarpits }) => tarpits?.mostSockets ?? null,
  },
  {
    target: 'api, durable accepts to the bare stack',
    unit: 'x',
    atLeast: 0.25,
    measure: ({ api }) => toBare(api, 'accept'),
  },
  { target: 'api, durable accept: p99', unit: 'ms', atMost: 60, measure: ({ api }) => acceptP99(api) },
  {
    target: 'api, get-contact to the bare stack',
    unit: 'x',
    atLeast: 0.33,
    measure: ({ api }) => toBare(api, 'get-contact'),
  },
  {
    target: 'api, get-audiences to the bare stack',
    unit: 'x',
    atLeast: 0.33,
    measure: ({ api }) => toBare(api, 'get-audiences'),
  },
  {
    target: 'import, seconds for a million rows',
    unit: 's',
    atMost: 120,
    measure: ({ import: run }) => secondsPerMillion(run),
  },
  {
    target: 'a page of a million contacts: p99',
    unit: 'ms',
    atMost: 50,
    measure: ({ contacts }) => contacts?.worstP99Ms ?? null,
  },
  {
    target: 'import, peak memory of the api',
    unit: 'MB',
    atMost: 200,
    measure: ({ import: run }) => run?.peakMb['api'] ?? null,
  },
  {
    target: 'import, peak memory of the worker',
    unit: 'MB',
    atMost: 200,
    measure: ({ import: run }) => run?.peakMb['worker'] ?? null,
  },
  {
    target: 'campaign, first mail after the start',
    unit: 'ms',
    atMost: 5000,
    measure: ({ campaign }) => campaign?.firstMailMs ?? null,
  },
  {
    target: 'campaign, ledger rows a second',
    unit: 'x',
    atLeast: 20_000,
    measure: ({ campaign }) => campaign?.ledgerRowsPerSecond ?? null,
  },
  {
    target: 'campaign, rate to that of transactional mail',
    unit: 'x',
    atLeast: 0.8,
    measure: ({ campaign }) => (campaign === undefined ? null : campaign.sendRate / campaign.plainRate),
  },
  {
    target: 'campaign, peak memory of the worker',
    unit: 'MB',
    atMost: 300,
    measure: ({ campaign }) => campaign?.peakMb['worker'] ?? null,
  },
  {
    target: 'campaign, peak memory of the outbound process',
    unit: 'MB',
    atMost: 300,
    measure: ({ campaign }) => campaign?.peakMb['mta'] ?? null,
  },
  {
    target: 'automations, until all steps of a moment are dispatched',
    unit: 's',
    atMost: 30,
    measure: ({ automations }) => automations?.seconds ?? null,
  },
  {
    target: 'automations, instant to another site meanwhile: p99',
    unit: 'ms',
    atMost: 250,
    measure: ({ automations }) => automations?.instant.p99Ms ?? null,
  },
  {
    target: 'tracking, opens and clicks a second',
    unit: 'x',
    atLeast: 3000,
    measure: ({ tracking }) => medianOf(tracking, ({ rate }) => rate),
  },
  {
    target: 'tracking, open or click at 3,000 a second: p99',
    unit: 'ms',
    atMost: 20,
    measure: ({ tracking }) => medianOf(tracking, ({ paced }) => paced.p99Ms),
  },
  {
    target: 'cost per message, long queue to short queue',
    unit: 'x',
    atMost: 1.15,
    measure: ({ depth }) => growth(depth, 'cpuMs'),
  },
  {
    target: 'time per message, long queue to short queue',
    unit: 'x',
    atMost: 1.15,
    measure: ({ depth }) => growth(depth, 'rate'),
  },
]

/** The verdict on every target of which something was measured or should have been. */
export function judge(results: Results): Verdict[] {
  return TARGETS.flatMap((target) => {
    const value = target.measure(results)
    return value === null ? [] : [verdictOn(target, value)]
  })
}

/** Mailstead's rate to a reference's, repeat by repeat; null when either was not measured. */
export function ratios(compared: readonly Compared[] | undefined, reference: string): number[] | null {
  const ours = compared?.find(({ name }) => name === 'Mailstead')?.runs
  const theirs = compared?.find(({ name }) => name === reference)?.runs
  if (ours === undefined || theirs === undefined) return null
  return ours.flatMap((run, repeat) => {
    const other = theirs[repeat]?.deliveredRate
    return other === undefined ? [] : [run.deliveredRate / other]
  })
}

function verdictOn({ target, unit, atLeast, atMost, aim }: Target, value: number): Verdict {
  const isKnown = Number.isFinite(value)
  return {
    target,
    measured: isKnown ? withUnit(value, unit) : 'not measured',
    required: atLeast === undefined ? `at most ${withUnit(atMost ?? 0, unit)}` : `at least ${withUnit(atLeast, unit)}`,
    aim: aim === undefined ? '' : withUnit(aim, unit),
    isMet: isKnown ? value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity) : null,
  }
}

function withUnit(value: number, unit: string): string {
  return `${unit === 'x' ? value.toFixed(2) : value.toFixed(value < 100 && !Number.isInteger(value) ? 1 : 0)} ${unit}`
}

function medianOf(tracking: Results['tracking'], of: (run: TrackingRun) => number): number | null {
  return tracking === undefined ? null : spread(tracking.runs.map(of)).median
}

function ratioOf(compared: readonly Compared[] | undefined, reference: string): number | null {
  const values = ratios(compared, reference)
  return values === null || values.length === 0 ? null : spread(values).median
}

/** The worst p99 of the phases; NaN when the queue ran dry in one, for then it shows nothing. */
function worstPhase(backlog: Results['backlog'], site: 'sameSite' | 'otherSite'): number | null {
  if (backlog === undefined) return null
  return Math.max(...backlog.phases.map((phase) => (phase.queuedAtEnd > 0 ? phase[site].p99Ms : Number.NaN)))
}

/** From the first byte of the file to the last row. */
function secondsPerMillion(run: Results['import']): number | null {
  return run === undefined ? null : ((run.uploadSeconds + run.importSeconds) * 1e6) / run.rows
}

/** The median of the rounds, each against the bare stack's round beside it. */
function toBare(api: Results['api'], name: string): number | null {
  const work = api?.works.find((one) => one.name === name)
  return work === undefined ? null : spread(ratesToBare(work)).median
}

function acceptP99(api: Results['api']): number | null {
  const work = api?.works.find(({ name }) => name === 'accept')
  return work === undefined ? null : spread(work.ours.map(({ p99Ms }) => p99Ms)).median
}

/**
 * How much more a message costs with everything queued: against a short queue and against the end of the same drain,
 * the worse of both.
 */
function growth(depth: Results['depth'], what: 'cpuMs' | 'rate'): number | null {
  if (depth === undefined) return null
  const { shallow, deepFirst, deepLast } = depth
  return Math.max(
    ...[shallow, deepLast].map((short) =>
      what === 'cpuMs' ? deepFirst.cpuMs / short.cpuMs : short.rate / deepFirst.rate,
    ),
  )
}
