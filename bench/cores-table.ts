/** The tables of the scenario `cores`: what was measured with several outbound processes, and what follows from it. */
import { type CoresResult, PARTS, predict } from '#bench/scenarios/cores.ts'
import { formatCount, formatTable } from './table.ts'

const CPU = ['mta', 'worker', 'postgres', 'redis']

export function coresTable({ runs, accept }: CoresResult): string {
  const drains = formatTable([
    ['CPU ms a message', 'delivered/s', ...CPU, 'main threads', 'writes', 'locks ms', 'internal locks ms'],
    ...runs.map(({ processes, hasOwnCores, rate, cpuMs, mainMs, writes, lockMs, internalMs }) => [
      `${processes} outbound, ${hasOwnCores ? 'a core each' : 'all on one core'}`,
      rate.toFixed(0),
      ...CPU.map((name) => (cpuMs[name] ?? 0).toFixed(3)),
      mainMs.toFixed(3),
      writes.toFixed(3),
      lockMs.toFixed(3),
      internalMs.toFixed(3),
    ]),
  ])
  const accepting = ['api', 'postgres', 'redis'].map((name) => `${name} ${(accept.cpuMs[name] ?? 0).toFixed(3)}`)
  const predicted = formatTable([
    ['calculated, messages a second', 'outbound', ...PARTS, 'limited by'],
    ...predict({ runs, accept }).map(({ cores, processes, limits, limitedBy }) => [
      `${cores} cores`,
      String(processes),
      ...PARTS.map((part) => formatCount(Math.round(limits[part]))),
      limitedBy,
    ]),
  ])
  return [
    drains,
    `  Accepting: ${accepting.join(', ')}; main thread of the api ${accept.mainMs.toFixed(3)}.`,
    predicted,
  ].join('\n\n')
}
