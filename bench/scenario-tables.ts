/** One table for each scenario that measures Mailstead alone. */
import { type ApiResult, type ApiComparison, bareRatios } from '#bench/scenarios/api.ts'
import type { AutomationsResult } from '#bench/scenarios/automations.ts'
import type { BacklogResult } from '#bench/scenarios/backlog.ts'
import type { CampaignResult } from '#bench/scenarios/campaign.ts'
import type { ContactsResult } from '#bench/scenarios/contacts.ts'
import type { DepthResult } from '#bench/scenarios/depth.ts'
import type { ImportResult } from '#bench/scenarios/import.ts'
import type { Latencies, LatencyResult } from '#bench/scenarios/latency.ts'
import type { StreamsResult } from '#bench/scenarios/streams.ts'
import { signaturesOf, type SubmissionResult, type SubmissionRun } from '#bench/scenarios/submission.ts'
import type { TarpitsResult } from '#bench/scenarios/tarpits.ts'
import { TARGET_RATE, type TrackingResult } from '#bench/scenarios/tracking.ts'
import type { ProcessStages } from '#bench/harness/stages.ts'
import { spread } from '#bench/harness/stats.ts'
import { formatCpu, formatCount, formatMemory, PROCESSES, formatRange, formatTable } from './table.ts'

export function latencyTable({ fromAccept, fromPost }: LatencyResult): string {
  return formatTable([
    ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
    ['accept to 250', ...cells(fromAccept)],
    ['first byte to 250', ...cells(fromPost)],
  ])
}

export function tarpitsTable(result: TarpitsResult): string {
  return [
    formatTable([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['healthy sites', ...cells(result.fromAccept)],
    ]),
    `  At most ${result.maxSockets} sockets, ${result.maxTarpitted} of them in tarpits;` +
      ` ${result.connectsPerMinute.toFixed(1)} connects a minute to a dead site,` +
      ` ${result.maxConnectsPerMinute} at most;` +
      ` ${result.mtaPeakMb.toFixed(0)} MB.`,
  ].join('\n')
}

export function streamsTable({ messages, objects, idleMb, openMb, cpuMsPerSecond }: StreamsResult): string {
  return [
    formatTable([
      ['start of the request to the client', 'events', 'p50 ms', 'p99 ms', 'max ms'],
      ['a message', ...cells(messages)],
      ['another object', ...cells(objects)],
    ]),
    `  The api has ${openMb.toFixed(0)} MB (PSS), ${idleMb.toFixed(0)} MB before the streams were opened;` +
      ` CPU ms in a second without changes: ${formatCpu(cpuMsPerSecond)}.`,
  ].join('\n')
}

export function campaignTable({
  firstMailMs,
  ledgerRowsPerSecond,
  sendRate,
  transactionalRate,
  sendCpuMs,
  transactionalCpuMs: plainCpuMs,
  peakMb,
}: CampaignResult): string {
  return [
    `  First mail after ${(firstMailMs / 1000).toFixed(1)} s; ledger ${ledgerRowsPerSecond.toFixed(0)} rows/s;` +
      ` then ${sendRate.toFixed(0)} mails/s,` +
      ` transactional mail of the same size ${transactionalRate.toFixed(0)}/s,` +
      ` ratio ${(sendRate / transactionalRate).toFixed(2)}.`,
    `  CPU ms a message: ${formatCpu(sendCpuMs)}; of transactional mail: ${formatCpu(plainCpuMs)}.`,
    `  Peak memory: ${formatMemory(peakMb)}.`,
  ].join('\n')
}

/** The share of each stage, and of what is left. */
export function stagesTable(processes: readonly ProcessStages[]): string {
  return formatTable([
    ['', 'stage', 'share'],
    ...processes.flatMap(({ process, shares }) =>
      shares.map(([stage, share], index) => [index === 0 ? process : '', stage, `${(share * 100).toFixed(1)} %`]),
    ),
  ])
}

export function automationsTable({ seconds, instant, peakMb }: AutomationsResult): string {
  return [
    formatTable([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['instant mail meanwhile', ...cells(instant)],
    ]),
    `  All were dispatched ${seconds.toFixed(1)} s after the due time. Peak memory: ${formatMemory(peakMb)}.`,
  ].join('\n')
}

export function trackingTable({ runs, recordedAfterMs }: TrackingResult): string {
  const rows = runs.flatMap(({ rate, p50Ms, p99Ms, cpuMs, fixedRate }) => [
    [rate.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1), '', formatCpu(cpuMs)],
    [
      `${TARGET_RATE}, evenly`,
      fixedRate.p50Ms.toFixed(1),
      fixedRate.p99Ms.toFixed(1),
      fixedRate.startDelayP99Ms.toFixed(1),
      '',
    ],
  ])
  return [
    formatTable([['a second', 'p50 ms', 'p99 ms', 'start delay, p99', 'CPU ms a request'], ...rows]),
    `  All events were recorded ${(recordedAfterMs / 1000).toFixed(1)} s after the last answer.`,
  ].join('\n')
}

export function backlogTable({ phases, mtaPeakMb, acceptedRate }: BacklogResult): string {
  const rows = phases.flatMap(({ name, sameSite, otherSite, queuedAtEnd }) => [
    [`${name}, same site`, ...cells(sameSite), formatCount(queuedAtEnd)],
    [`${name}, other site`, ...cells(otherSite), formatCount(queuedAtEnd)],
  ])
  return [
    formatTable([['', 'messages', 'p50 ms', 'p99 ms', 'max ms', 'still queued'], ...rows]),
    `  The queue was filled with ${acceptedRate.toFixed(0)} a second;` +
      ` the outbound process used at most ${mtaPeakMb.toFixed(0)} MB.`,
  ].join('\n')
}

function cells({ count: number, p50Ms, p99Ms, maxMs }: Latencies): string[] {
  return [String(number), p50Ms.toFixed(1), p99Ms.toFixed(1), maxMs.toFixed(1)]
}

export function depthTable({ shallow, deepFirst, deepLast, parts }: DepthResult): string {
  const names = PROCESSES.filter((name) => name in shallow.processMs)
  const row = (name: string, { queued, messages, cpuMs, processMs, rate }: DepthResult['shallow']): string[] => [
    name,
    formatCount(queued),
    formatCount(messages),
    rate.toFixed(0),
    cpuMs.toFixed(3),
    ...names.map((process) => (processMs[process] ?? 0).toFixed(3)),
  ]
  return formatTable([
    ['', 'queued', 'messages', 'delivered/s', 'CPU ms a message', ...names],
    row('short queue, many times', shallow),
    row('long queue, first window', deepFirst),
    row('long queue, last window', deepLast),
    ...parts.map((part, index) => row(`long queue, part ${index + 1} of ${parts.length}`, part)),
  ])
}

/** Requests a second; CPU in microseconds a request: of the server process (api or bare) and of the others. */
export function apiTable({ comparisons }: ApiResult): string {
  const names = ['server', 'postgres', 'redis', 'load']
  const cpu = (runs: ApiComparison['ours'], name: string): string =>
    name in (runs[0]?.cpuMs ?? {}) ? (spread(runs.map(({ cpuMs }) => cpuMs[name] ?? 0)).median * 1000).toFixed(0) : ''
  const row = (label: string, runs: ApiComparison['ours'], toBare: string): string[] => [
    label,
    formatRange(
      runs.map(({ rate }) => rate),
      0,
    ),
    toBare,
    formatRange(
      runs.map(({ p50Ms }) => p50Ms),
      1,
    ),
    formatRange(
      runs.map(({ p99Ms }) => p99Ms),
      1,
    ),
    ...names.map((name) => cpu(runs, name)),
    `${formatRange(
      runs.map(({ otherCpuShare }) => otherCpuShare * 100),
      0,
    )} %`,
  ]
  return formatTable([
    ['', 'a second', 'to bare', 'p50 ms', 'p99 ms', ...names.map((name) => `${name} us`), 'other CPU'],
    ...comparisons.flatMap((comparison) => [
      row(comparison.name, comparison.ours, formatRange(bareRatios(comparison), 2)),
      row(`${comparison.name}, bare`, comparison.bare, ''),
    ]),
  ])
}

/** CPU in milliseconds a message. */
export function submissionTable({ rows }: SubmissionResult): string {
  const names = ['submission', 'postgres', 'redis', 'load']
  const range = (runs: readonly SubmissionRun[], digits: number, of: (run: SubmissionRun) => number): string =>
    formatRange(runs.map(of), digits)
  return formatTable([
    ['CPU ms a message', 'accepted/s', 'submission', 'in signatures', ...names.slice(1), 'other CPU'],
    ...rows.map(({ name, runs }) => {
      const [submission = '', ...others] = names.map((process) => range(runs, 3, ({ cpuMs }) => cpuMs[process] ?? 0))
      return [
        name,
        range(runs, 0, ({ rate }) => rate),
        submission,
        range(runs, 2, signaturesOf),
        ...others,
        `${range(runs, 0, ({ otherCpuShare }) => otherCpuShare * 100)} %`,
      ]
    }),
  ])
}

export function importTable({ uploadSeconds, importSeconds, rows, cpuSeconds, peakMb }: ImportResult): string {
  const names = PROCESSES.filter((name) => name in cpuSeconds)
  return [
    formatTable([
      ['', 'seconds', 'rows/s'],
      ['stored', uploadSeconds.toFixed(1), (rows / uploadSeconds).toFixed(0)],
      ['imported', importSeconds.toFixed(1), (rows / importSeconds).toFixed(0)],
    ]),
    formatTable([
      ['', 's CPU', 'peak MB'],
      ...names.map((name) => [name, (cpuSeconds[name] ?? 0).toFixed(1), (peakMb[name] ?? 0).toFixed(0)]),
    ]),
  ].join('\n\n')
}

export function contactsTable({ sorts }: ContactsResult): string {
  return formatTable([
    ['', 'a page of', 'p50 ms', 'p99 ms', 'max ms'],
    ...sorts.map(({ sort, limit, p50Ms, p99Ms, maxMs }) => [
      sort,
      String(limit),
      ...[p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)),
    ]),
  ])
}
