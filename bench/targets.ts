/**
 * The performance targets, one row each, and their evaluation on the results of
 * a run. A missed target is shown but does not fail the benchmark, because the
 * machine may be busy. A target whose scenario did not run has no result.
 */
import type { BenchResults } from './results.ts'
import {
  acceptP99,
  bareRatio,
  costInSignatures,
  depthGrowth,
  medianOf,
  ratioOf,
  secondsPerMillion,
  worstPhase,
} from './target-values.ts'

export interface TargetResult {
  readonly target: string
  readonly measured: string
  readonly required: string
  /** The goal beyond the requirement. */
  readonly goal: string
  /** null = it could not be measured. */
  readonly isMet: boolean | null
}

interface BenchTarget {
  readonly target: string
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
  readonly goal?: number
  /** null = not measured in this run. */
  readonly measure: (results: BenchResults) => number | null
}

const TARGETS: readonly BenchTarget[] = [
  {
    target: 'end to end, times Haraka with DKIM',
    unit: 'x',
    atLeast: 2.5,
    goal: 5,
    measure: ({ e2e }) => ratioOf(e2e, 'Haraka'),
  },
  {
    target: 'end to end, times Postfix with OpenDKIM',
    unit: 'x',
    atLeast: 3.5,
    goal: 7,
    measure: ({ e2e }) => ratioOf(e2e, 'Postfix'),
  },
  {
    target: 'CPU of a message of 4 KB HTML, in RSA-2048 signatures',
    unit: 'x',
    atMost: 4,
    goal: 2.5,
    measure: ({ e2e }) => costInSignatures(e2e, 'html'),
  },
  {
    target: 'CPU of a message of 4 KB plain text, in RSA-2048 signatures',
    unit: 'x',
    atMost: 3,
    goal: 2.3,
    measure: ({ e2e }) => costInSignatures(e2e, 'text'),
  },
  {
    target: 'SMTP in and out, times Haraka with DKIM',
    unit: 'x',
    atLeast: 2.5,
    goal: 5,
    measure: ({ smtp }) => ratioOf(smtp, 'Haraka'),
  },
  {
    target: 'SMTP in and out, times Postfix with OpenDKIM',
    unit: 'x',
    atLeast: 4,
    goal: 7,
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
    atMost: 60,
    goal: 30,
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
    measure: ({ tarpits }) => tarpits?.maxConnectsPerMinute ?? null,
  },
  {
    target: 'tarpits, sockets of the outbound process',
    unit: 'x',
    atMost: 550,
    measure: ({ tarpits }) => tarpits?.maxSockets ?? null,
  },
  {
    target: 'api, durable accepts to the bare stack',
    unit: 'x',
    atLeast: 0.25,
    measure: ({ api }) => bareRatio(api, 'accept'),
  },
  { target: 'api, durable accept: p99', unit: 'ms', atMost: 60, measure: ({ api }) => acceptP99(api) },
  {
    target: 'api, get-contact to the bare stack',
    unit: 'x',
    atLeast: 0.33,
    measure: ({ api }) => bareRatio(api, 'get-contact'),
  },
  {
    target: 'api, get-audiences to the bare stack',
    unit: 'x',
    atLeast: 0.33,
    measure: ({ api }) => bareRatio(api, 'get-audiences'),
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
    atLeast: 0.9,
    goal: 1,
    measure: ({ campaign }) => (campaign === undefined ? null : campaign.sendRate / campaign.transactionalRate),
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
    target: 'automations, until all steps due at one time are dispatched',
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
    measure: ({ tracking }) => medianOf(tracking, ({ fixedRate }) => fixedRate.p99Ms),
  },
  {
    target: 'streams, a change to all its clients: p99',
    unit: 'ms',
    atMost: 200,
    measure: ({ streams }) => (streams === undefined ? null : Math.max(streams.messages.p99Ms, streams.objects.p99Ms)),
  },
  {
    target: 'streams, memory of the api',
    unit: 'MB',
    atMost: 150,
    measure: ({ streams }) => streams?.openMb ?? null,
  },
  {
    target: 'cost per message, long queue to short queue',
    unit: 'x',
    atMost: 1.1,
    goal: 1.05,
    measure: ({ depth }) => depthGrowth(depth, 'cpuMs'),
  },
  {
    target: 'time per message, long queue to short queue',
    unit: 'x',
    atMost: 1.15,
    measure: ({ depth }) => depthGrowth(depth, 'rate'),
  },
]

/** The result of every target whose scenario ran. */
export function evaluateTargets(results: BenchResults): TargetResult[] {
  return TARGETS.flatMap((target) => {
    const value = target.measure(results)
    return value === null ? [] : [evaluate(target, value)]
  })
}

function evaluate({ target, unit, atLeast, atMost, goal }: BenchTarget, value: number): TargetResult {
  const isKnown = Number.isFinite(value)
  return {
    target,
    measured: isKnown ? withUnit(value, unit) : 'not measured',
    required: atLeast === undefined ? `at most ${withUnit(atMost ?? 0, unit)}` : `at least ${withUnit(atLeast, unit)}`,
    goal: goal === undefined ? '' : withUnit(goal, unit),
    isMet: isKnown ? value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity) : null,
  }
}

function withUnit(value: number, unit: string): string {
  return `${unit === 'x' ? value.toFixed(2) : value.toFixed(value < 100 && !Number.isInteger(value) ? 1 : 0)} ${unit}`
}
