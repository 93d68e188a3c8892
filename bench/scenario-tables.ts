/** One table for each scenario that measures Mailstead alone. */
import { type ApiResult, type ApiWork, ratesToBare } from '#bench/scenarios/api.ts'
import type { AutomationsResult } from '#bench/scenarios/automations.ts'
import type { BacklogResult } from '#bench/scenarios/backlog.ts'
import type { CampaignResult } from '#bench/scenarios/campaign.ts'
import type { ContactsResult } from '#bench/scenarios/contacts.ts'
import type { DepthResult } from '#bench/scenarios/depth.ts'
import type { ImportResult } from '#bench/scenarios/import.ts'
import type { Latencies, LatencyResult } from '#bench/scenarios/latency.ts'
import type { TarpitsResult } from '#bench/scenarios/tarpits.ts'
import { PROMISED_RATE, type TrackingResult } from '#bench/scenarios/tracking.ts'
import { spread } from '#bench/harness/stats.ts'
import { costOf, count, memoryOf, PROCESSES, range, table } from './table.ts'

export function latencyTable({ fromAccept, fromPost }: LatencyResult): string {
  return table([
    ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
    ['accept to 250', ...cells(fromAccept)],
    ['first byte to 250', ...cells(fromPost)],
  ])
}

export function tarpitsTable(result: TarpitsResult): string {
  return [
    table([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['healthy sites', ...cells(result.fromAccept)],
    ]),
    `  At most ${result.mostSockets} sockets, ${result.mostTarpitted} of them in tarpits;` +
      ` ${result.connectsAMinute.toFixed(1)} connects a minute to a dead site, ${result.mostConnectsAMinute} at most;` +
      ` ${result.mtaPeakMb.toFixed(0)} MB.`,
  ].join('\n')
}

export function campaignTable({
  firstMailMs,
  ledgerRowsPerSecond,
  sendRate,
  plainRate,
  sendCpuMs,
  plainCpuMs,
  peakMb,
}: CampaignResult): string {
  return [
    `  First mail after ${(firstMailMs / 1000).toFixed(1)} s; ledger ${ledgerRowsPerSecond.toFixed(0)} rows/s;` +
      ` then ${sendRate.toFixed(0)} mails/s,` +
      ` transactional mail of that size ${plainRate.toFixed(0)}/s: ${(sendRate / plainRate).toFixed(2)} of it.`,
    `  CPU ms a message: ${costOf(sendCpuMs)}; of transactional mail: ${costOf(plainCpuMs)}.`,
    `  Peak memory: ${memoryOf(peakMb)}.`,
  ].join('\n')
}

export function automationsTable({ seconds, instant, peakMb }: AutomationsResult): string {
  return [
    table([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['instant mail meanwhile', ...cells(instant)],
    ]),
    `  All were dispatched ${seconds.toFixed(1)} s after the moment. Peak memory: ${memoryOf(peakMb)}.`,
  ].join('\n')
}

export function trackingTable({ runs, toldAfterMs }: TrackingResult): string {
  const rows = runs.flatMap(({ rate, p50Ms, p99Ms, cpuMs, paced }) => [
    [rate.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1), '', costOf(cpuMs)],
    [`${PROMISED_RATE}, evenly`, paced.p50Ms.toFixed(1), paced.p99Ms.toFixed(1), paced.lateP99Ms.toFixed(1), ''],
  ])
  return [
    table([['a second', 'p50 ms', 'p99 ms', 'asked late, p99', 'CPU ms a request'], ...rows]),
    `  All were told as events ${(toldAfterMs / 1000).toFixed(1)} s after the last answer.`,
  ].join('\n')
}

export function backlogTable({ phases, mtaPeakMb, acceptedRate }: BacklogResult): string {
  const rows = phases.flatMap(({ name, sameSite, otherSite, queuedAtEnd }) => [
    [`${name}, same site`, ...cells(sameSite), count(queuedAtEnd)],
    [`${name}, other site`, ...cells(otherSite), count(queuedAtEnd)],
  ])
  return [
    table([['', 'messages', 'p50 ms', 'p99 ms', 'max ms', 'still queued'], ...rows]),
    `  The queue was filled with ${acceptedRate.toFixed(0)} a second;` +
      ` the outbound process took ${mtaPeakMb.toFixed(0)} MB at most.`,
  ].join('\n')
}

function cells({ count: number, p50Ms, p99Ms, maxMs }: Latencies): string[] {
  return [String(number), p50Ms.toFixed(1), p99Ms.toFixed(1), maxMs.toFixed(1)]
}

export function depthTable({ shallow, deepFirst, deepLast, parts }: DepthResult): string {
  const names = PROCESSES.filter((name) => name in shallow.processMs)
  const row = (name: string, { queued, messages, cpuMs, processMs, rate }: DepthResult['shallow']): string[] => [
    name,
    count(queued),
    count(messages),
    rate.toFixed(0),
    cpuMs.toFixed(3),
    ...names.map((process) => (processMs[process] ?? 0).toFixed(3)),
  ]
  return table([
    ['', 'queued', 'messages', 'delivered/s', 'CPU ms a message', ...names],
    row('short queue, many times', shallow),
    row('long queue, first window', deepFirst),
    row('long queue, last window', deepLast),
    ...parts.map((part, index) => row(`long queue, part ${index + 1} of ${parts.length}`, part)),
  ])
}

/** Requests a second; CPU in microseconds a request, of the server's own process (api or bare) and of the others. */
export function apiTable({ works }: ApiResult): string {
  const names = ['server', 'postgres', 'redis', 'load']
  const cpu = (runs: ApiWork['ours'], name: string): string =>
    name in (runs[0]?.cpuMs ?? {}) ? (spread(runs.map(({ cpuMs }) => cpuMs[name] ?? 0)).median * 1000).toFixed(0) : ''
  const row = (label: string, runs: ApiWork['ours'], toBare: string): string[] => [
    label,
    range(
      runs.map(({ rate }) => rate),
      0,
    ),
    toBare,
    range(
      runs.map(({ p50Ms }) => p50Ms),
      1,
    ),
    range(
      runs.map(({ p99Ms }) => p99Ms),
      1,
    ),
    ...names.map((name) => cpu(runs, name)),
    `${range(
      runs.map(({ foreignShare }) => foreignShare * 100),
      0,
    )} %`,
  ]
  return table([
    ['', 'a second', 'to bare', 'p50 ms', 'p99 ms', ...names.map((name) => `${name} us`), 'others on it'],
    ...works.flatMap((work) => [
      row(work.name, work.ours, range(ratesToBare(work), 2)),
      row(`${work.name}, bare`, work.bare, ''),
    ]),
  ])
}

export function importTable({ uploadSeconds, importSeconds, rows, cpuSeconds, peakMb }: ImportResult): string {
  const names = PROCESSES.filter((name) => name in cpuSeconds)
  return [
    table([
      ['', 'seconds', 'rows/s'],
      ['stored', uploadSeconds.toFixed(1), (rows / uploadSeconds).toFixed(0)],
      ['carried out', importSeconds.toFixed(1), (rows / importSeconds).toFixed(0)],
    ]),
    table([
      ['', 's CPU', 'peak MB'],
      ...names.map((name) => [name, (cpuSeconds[name] ?? 0).toFixed(1), (peakMb[name] ?? 0).toFixed(0)]),
    ]),
  ].join('\n\n')
}

export function contactsTable({ orders }: ContactsResult): string {
  return table([
    ['', 'a page of', 'p50 ms', 'p99 ms', 'max ms'],
    ...orders.map(({ order, limit, p50Ms, p99Ms, maxMs }) => [
      order,
      String(limit),
      ...[p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)),
    ]),
  ])
}
