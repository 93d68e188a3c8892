/** Tables that compare Mailstead with the reference servers: throughput, CPU and memory by process, acceptance. */
import type { Measurement } from '#bench/harness/contender.ts'
import type { ServerComparison } from '#bench/scenarios/compare.ts'
import { PROCESSES, formatRange, formatTable } from './table.ts'
import { rateRatios, signaturesOf } from './target-values.ts'

/** When other processes use a larger share of the CPU than this, the rates are not reliable. */
const OTHER_CPU_LIMIT = 0.05

export function throughputTable(compared: readonly ServerComparison[]): string {
  const others = ['Haraka', 'Postfix'].filter((name) => rateRatios(compared, name) !== null)
  return formatTable([
    [
      '',
      'delivered/s',
      'CPU ms a message',
      'in signatures',
      'load and sink',
      'other CPU',
      ...others.map((name) => `times ${name}`),
    ],
    ...compared.map(({ name, describe: text, runs }) => [
      text === '' ? name : `${name} (${text})`,
      formatRange(
        runs.map(({ deliveredRate }) => deliveredRate),
        0,
      ),
      name === 'no server'
        ? ''
        : formatRange(
            runs.map(({ cpuMs }) => cpuMs['server'] ?? 0),
            2,
          ),
      name === 'no server' ? '' : formatRange(runs.map(signaturesOf), 1),
      formatRange(
        runs.map(({ cpuMs }) => (cpuMs['load'] ?? 0) + (cpuMs['sink'] ?? 0)),
        2,
      ),
      `${formatRange(
        runs.map(({ otherCpuShare }) => otherCpuShare * 100),
        0,
      )} %`,
      ...others.map((other) => (name === 'Mailstead' ? formatRange(rateRatios(compared, other) ?? [], 2) : '')),
    ]),
  ])
}

/** CPU per 1,000 messages (median) and peak memory of each process. */
export function processTable(compared: readonly ServerComparison[]): string {
  return formatTable([
    ['', 'process', 's CPU per 1,000', 'peak MB'],
    ...compared.flatMap(({ name, runs }) =>
      processNames(runs).map((process, index) => [
        index === 0 ? name : '',
        process,
        formatRange(
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

/** CPU milliseconds a message of Mailstead's processes by kind of thread, and one signature. */
export function threadTable(compared: readonly ServerComparison[]): string {
  const rows = compared.filter(({ name }) => name.startsWith('Mailstead'))
  if (rows.length === 0) return ''
  return formatTable([
    ['CPU ms a message', 'process', 'main thread', 'pool (signatures)', 'V8 helpers', 'other threads', 'a signature'],
    ...rows.flatMap(({ name, runs }) =>
      NODE_PROCESSES.filter((process) => process in (runs[0]?.threadMs ?? {})).map((process, index) => [
        index === 0 ? name : '',
        process,
        ...(['main', 'pool', 'v8', 'other'] as const).map((kind) =>
          formatRange(
            runs.map(({ threadMs }) => threadMs[process]?.[kind] ?? 0),
            3,
          ),
        ),
        index === 0
          ? formatRange(
              runs.map(({ signatureMs }) => signatureMs),
              3,
            )
          : '',
      ]),
    ),
  ])
}

const NODE_PROCESSES = ['api', 'submission', 'mta', 'worker']

function processNames(runs: readonly Measurement[]): string[] {
  const names = Object.keys(runs[0]?.cpuMs ?? {}).filter((name) => name !== 'server')
  const rank = (name: string): number => (PROCESSES.includes(name) ? PROCESSES.indexOf(name) : PROCESSES.length)
  return names.toSorted((a, b) => rank(a) - rank(b))
}

export function acceptanceTable(compared: readonly ServerComparison[]): string {
  const runs = compared.find(({ name }) => name === 'Mailstead')?.runs ?? []
  if (runs.length === 0) return ''
  return formatTable([
    ['', 'accepted/s', 'p50 ms', 'p99 ms'],
    [
      'REST, 50 connections',
      formatRange(
        runs.map(({ acceptedRate }) => acceptedRate),
        0,
      ),
      formatRange(
        runs.map(({ acceptP50Ms = 0 }) => acceptP50Ms),
        1,
      ),
      formatRange(
        runs.map(({ acceptP99Ms = 0 }) => acceptP99Ms),
        1,
      ),
    ],
  ])
}

/** A warning when other processes used so much CPU that the rates are not reliable. */
export function otherProcessesNote(compared: readonly ServerComparison[]): string {
  const shares = compared.flatMap(({ runs }) => runs.map(({ otherCpuShare }) => otherCpuShare))
  const worst = Math.max(0, ...shares)
  if (worst <= OTHER_CPU_LIMIT) return ''
  const percent = Math.round(worst * 100)
  return `  Other processes used up to ${percent} % of the CPU during the run: compare the CPU columns, not the rates.`
}
