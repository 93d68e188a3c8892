/** Mailstead beside other servers: throughput, CPU and memory by process, acceptance, and what disturbed the runs. */
import type { Measurement } from '#bench/harness/contender.ts'
import type { Compared } from '#bench/scenarios/compare.ts'
import { PROCESSES, range, table } from './table.ts'
import { ratios } from './targets.ts'

/** Others on the machine took more than this part of it: the figures are theirs too. */
const FOREIGN_LIMIT = 0.05

export function throughput(compared: readonly Compared[]): string {
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
export function processes(compared: readonly Compared[]): string {
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

export function acceptance(compared: readonly Compared[]): string {
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
export function foreign(compared: readonly Compared[]): string {
  const shares = compared.flatMap(({ runs }) => runs.map(({ foreignShare }) => foreignShare))
  const worst = Math.max(0, ...shares)
  if (worst <= FOREIGN_LIMIT) return ''
  const percent = Math.round(worst * 100)
  return `  Other processes took up to ${percent} % of the machine meanwhile: compare the CPU, not the rates.`
}
