/**
 * The tables a person reads: throughput beside the references, CPU and memory
 * by process, latencies, the depth of the queue, and the verdicts. Medians with
 * minimum and maximum in brackets. Pure: results in, text out.
 */
import type { Measurement } from './contender.ts'
import type { Machine } from './machine.ts'
import type { Results } from './results.ts'
import { type ApiResult, type ApiWork, ratesToBare } from './scenarios/api.ts'
import type { AutomationsResult } from './scenarios/automations.ts'
import { PROMISED_RATE, type TrackingResult } from './scenarios/tracking.ts'
import type { BacklogResult } from './scenarios/backlog.ts'
import type { TarpitsResult } from './scenarios/tarpits.ts'
import type { CampaignResult } from './scenarios/campaign.ts'
import type { Compared } from './scenarios/compare.ts'
import type { ContactsResult } from './scenarios/contacts.ts'
import type { DepthResult } from './scenarios/depth.ts'
import type { ImportResult } from './scenarios/import.ts'
import type { Latencies, LatencyResult } from './scenarios/latency.ts'
import { spread } from './stats.ts'
import { ratios, type Verdict } from './targets.ts'

/** The order in which processes are shown; others follow. */
const PROCESSES = [
  'api',
  'submission',
  'mta',
  'worker',
  'postgres',
  'redis',
  'haraka',
  'postfix',
  'opendkim',
  'load',
  'sink',
]
/** Others on the machine took more than this part of it: the figures are theirs too. */
const FOREIGN_LIMIT = 0.05

export function writeReport(machine: Machine, results: Results, verdicts: readonly Verdict[]): string {
  const {
    e2e,
    smtp,
    references,
    latency,
    backlog,
    depth,
    api,
    import: imported,
    contacts,
    tarpits,
    campaign,
    automations,
    tracking,
  } = results
  const blocks = [
    describe(machine),
    ...(e2e
      ? [
          'End to end, 4 KB, one recipient, DKIM RSA-2048',
          throughput(e2e),
          processes(e2e),
          acceptance(e2e),
          foreign(e2e),
        ]
      : []),
    ...(smtp
      ? [
          'SMTP in, SMTP out, 4 KB, one mail a connection, DKIM RSA-2048',
          throughput(smtp),
          processes(smtp),
          foreign(smtp),
        ]
      : []),
    ...(references ? ['The references alone', throughput(references), processes(references), foreign(references)] : []),
    ...(latency ? ['Instant mail on an idle server', latencyTable(latency)] : []),
    ...(tarpits
      ? [
          `Instant mail while ${tarpits.tarpits} tarpits and ${tarpits.dead} dead sites have ${count(tarpits.queued)} bulk mails (accept to 250)`,
          tarpitsTable(tarpits),
        ]
      : []),
    ...(backlog
      ? [`Instant mail with ${count(backlog.queued)} bulk mails queued (accept to 250)`, backlogTable(backlog)]
      : []),
    ...(depth ? ['Draining a short and a long queue', depthTable(depth)] : []),
    ...(api ? ['The REST API beside the bare stack, 50 connections', apiTable(api)] : []),
    ...(imported
      ? [
          `Importing ${count(imported.rows)} contacts, ${imported.megabytes.toFixed(0)} MB of CSV`,
          importTable(imported),
        ]
      : []),
    ...(contacts ? [`Pages of an audience of ${count(contacts.members)}`, contactsTable(contacts)] : []),
    ...(campaign ? [`A campaign to ${count(campaign.contacts)} contacts`, campaignTable(campaign)] : []),
    ...(automations
      ? [`${count(automations.steps)} steps of an automation, due at one moment`, automationsTable(automations)]
      : []),
    ...(tracking ? [`Opens and clicks of ${count(tracking.mails)} mails`, trackingTable(tracking)] : []),
    ...(verdicts.length > 0 ? ['Targets', verdictTable(verdicts)] : []),
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

/** Columns as wide as they must be: the first to the left, all others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const align = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map((row) => `  ${row.map(align).join('  ')}`.trimEnd()).join('\n')
}

function describe({ cpu, cores, memoryGb, kernel, node, commit, loadBefore, isDiskInMemory }: Machine): string {
  const load = loadBefore.toFixed(1)
  const lines = [
    `${cores} x ${cpu}, ${memoryGb} GB, Linux ${kernel}, Node ${node}${commit === '' ? '' : `, commit ${commit}`}`,
    ...(loadBefore > 0.5
      ? [`The machine was busy before the start (load ${load}): trust the ratios, not the digits.`]
      : []),
    ...(isDiskInMemory
      ? ['/var/tmp is in memory: durable writes cost nothing here, and the figures are too good.']
      : []),
  ]
  return lines.join('\n')
}

function throughput(compared: readonly Compared[]): string {
  const others = ['Haraka', 'Postfix'].filter((name) => ratios(compared, name) !== null)
  return table([
    ['', 'delivered/s', 'CPU ms a message', 'others on it', ...others.map((name) => `times ${name}`)],
    ...compared.map(({ name, describe: text, runs }) => [
      `${name} (${text})`,
      range(
        runs.map(({ deliveredRate }) => deliveredRate),
        0,
      ),
      name === 'no server'
        ? ''
        : range(
            runs.map(({ cpuMs }) => cpuMs['server'] ?? 0),
            2,
          ),
      `${range(
        runs.map(({ foreignShare }) => foreignShare * 100),
        0,
      )} %`,
      ...others.map((other) => (name === 'Mailstead' ? range(ratios(compared, other) ?? [], 2) : '')),
    ]),
  ])
}

/** CPU per 1,000 messages and peak memory of each process, medians. */
function processes(compared: readonly Compared[]): string {
  return table([
    ['', 'process', 's CPU per 1,000', 'peak MB'],
    ...compared.flatMap(({ name, runs }) =>
      processNames(runs).map((process, index) => [
        index === 0 ? name : '',
        process,
        range(
          runs.map(({ cpuMs }) => cpuMs[process] ?? 0),
          3,
        ),
        process in (runs[0]?.peakMb ?? {})
          ? Math.max(...runs.map(({ peakMb }) => peakMb[process] ?? 0)).toFixed(0)
          : '',
      ]),
    ),
  ])
}

function processNames(runs: readonly Measurement[]): string[] {
  const names = Object.keys(runs[0]?.cpuMs ?? {}).filter((name) => name !== 'server')
  const place = (name: string): number => (PROCESSES.includes(name) ? PROCESSES.indexOf(name) : PROCESSES.length)
  return names.toSorted((a, b) => place(a) - place(b))
}

function acceptance(compared: readonly Compared[]): string {
  const runs = compared.find(({ name }) => name === 'Mailstead')?.runs ?? []
  if (runs.length === 0) return ''
  return table([
    ['', 'accepted/s', 'p50 ms', 'p99 ms'],
    [
      'REST, 50 connections',
      range(
        runs.map(({ acceptedRate }) => acceptedRate),
        0,
      ),
      range(
        runs.map(({ acceptP50Ms = 0 }) => acceptP50Ms),
        1,
      ),
      range(
        runs.map(({ acceptP99Ms = 0 }) => acceptP99Ms),
        1,
      ),
    ],
  ])
}

/** A word when other processes of the machine took part: the rates are then theirs too. */
function foreign(compared: readonly Compared[]): string {
  const shares = compared.flatMap(({ runs }) => runs.map(({ foreignShare }) => foreignShare))
  const worst = Math.max(0, ...shares)
  if (worst <= FOREIGN_LIMIT) return ''
  return `  Other processes took up to ${Math.round(worst * 100)} % of the machine meanwhile: compare the CPU, not the rates.`
}

function latencyTable({ fromAccept, fromPost }: LatencyResult): string {
  return table([
    ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
    ['accept to 250', ...cells(fromAccept)],
    ['first byte to 250', ...cells(fromPost)],
  ])
}

function tarpitsTable(result: TarpitsResult): string {
  return [
    table([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['healthy sites', ...cells(result.fromAccept)],
    ]),
    `  At most ${result.mostSockets} sockets, ${result.mostTarpitted} of them in tarpits; ${result.connectsAMinute.toFixed(1)} connects a minute to a dead site, ${result.mostConnectsAMinute} at most; ${result.mtaPeakMb.toFixed(0)} MB.`,
  ].join('\n')
}

function campaignTable({
  firstMailMs,
  ledgerRowsPerSecond,
  sendRate,
  plainRate,
  sendCpuMs,
  plainCpuMs,
  peakMb,
}: CampaignResult): string {
  return [
    `  First mail after ${(firstMailMs / 1000).toFixed(1)} s; ledger ${ledgerRowsPerSecond.toFixed(0)} rows/s; then ${sendRate.toFixed(0)} mails/s,` +
      ` transactional mail of that size ${plainRate.toFixed(0)}/s: ${(sendRate / plainRate).toFixed(2)} of it.`,
    `  CPU ms a message: ${costOf(sendCpuMs)}; of transactional mail: ${costOf(plainCpuMs)}.`,
    `  Peak memory: ${memoryOf(peakMb)}.`,
  ].join('\n')
}

function costOf(cpuMs: Readonly<Record<string, number>>): string {
  return Object.entries(cpuMs)
    .map(([name, ms]) => `${name} ${ms.toFixed(3)}`)
    .join(', ')
}

function automationsTable({ seconds, instant, peakMb }: AutomationsResult): string {
  return [
    table([
      ['', 'messages', 'p50 ms', 'p99 ms', 'max ms'],
      ['instant mail meanwhile', ...cells(instant)],
    ]),
    `  All were dispatched ${seconds.toFixed(1)} s after the moment. Peak memory: ${memoryOf(peakMb)}.`,
  ].join('\n')
}

function trackingTable({ runs, toldAfterMs }: TrackingResult): string {
  const rows = runs.flatMap(({ rate, p50Ms, p99Ms, cpuMs, paced }) => [
    [rate.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1), '', costOf(cpuMs)],
    [`${PROMISED_RATE}, evenly`, paced.p50Ms.toFixed(1), paced.p99Ms.toFixed(1), paced.lateP99Ms.toFixed(1), ''],
  ])
  return [
    table([['a second', 'p50 ms', 'p99 ms', 'asked late, p99', 'CPU ms a request'], ...rows]),
    `  All were told as events ${(toldAfterMs / 1000).toFixed(1)} s after the last answer.`,
  ].join('\n')
}

function memoryOf(peakMb: Readonly<Record<string, number>>): string {
  return Object.entries(peakMb)
    .map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`)
    .join(', ')
}

function backlogTable({ phases, mtaPeakMb, acceptedRate }: BacklogResult): string {
  const rows = phases.flatMap(({ name, sameSite, otherSite, queuedAtEnd }) => [
    [`${name}, same site`, ...cells(sameSite), count(queuedAtEnd)],
    [`${name}, other site`, ...cells(otherSite), count(queuedAtEnd)],
  ])
  return [
    table([['', 'messages', 'p50 ms', 'p99 ms', 'max ms', 'still queued'], ...rows]),
    `  The queue was filled with ${acceptedRate.toFixed(0)} a second; the outbound process took ${mtaPeakMb.toFixed(0)} MB at most.`,
  ].join('\n')
}

function cells({ count: number, p50Ms, p99Ms, maxMs }: Latencies): string[] {
  return [String(number), p50Ms.toFixed(1), p99Ms.toFixed(1), maxMs.toFixed(1)]
}

function depthTable({ shallow, deepFirst, deepLast, parts }: DepthResult): string {
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
function apiTable({ works }: ApiResult): string {
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

function importTable({ uploadSeconds, importSeconds, rows, cpuSeconds, peakMb }: ImportResult): string {
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

function contactsTable({ orders }: ContactsResult): string {
  return table([
    ['', 'a page of', 'p50 ms', 'p99 ms', 'max ms'],
    ...orders.map(({ order, limit, p50Ms, p99Ms, maxMs }) => [
      order,
      String(limit),
      ...[p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)),
    ]),
  ])
}

function verdictTable(verdicts: readonly Verdict[]): string {
  const word = (isMet: boolean | null): string => (isMet === null ? '?' : isMet ? 'pass' : 'FAIL')
  const rows = verdicts.map(({ target, measured, required, aim, isMet }) => [
    target,
    measured,
    required,
    aim,
    word(isMet),
  ])
  return table([['', 'measured', 'required', 'aim', ''], ...rows])
}

/** Median (minimum to maximum); the median alone when there is one value. */
function range(values: readonly number[], digits: number): string {
  if (values.length === 0) return ''
  const { median, min, max } = spread(values)
  return values.length === 1
    ? median.toFixed(digits)
    : `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`
}

function count(number: number): string {
  return number.toLocaleString('en')
}
