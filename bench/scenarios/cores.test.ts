import { assert } from 'chai'
import { type CoresRun, predict } from './cores.ts'

const ACCEPT = { cpuMs: { api: 0.2, postgres: 0.1, redis: 0.01, worker: 0 }, mainMs: 0.2 }

function run(processes: number, mainMs: number, cpuMs: CoresRun['cpuMs'], hasOwnCores = false): CoresRun {
  return { processes, hasOwnCores, rate: 1000, cpuMs, mainMs, writes: 0.1, lockMs: 0, internalMs: 0 }
}

describe('the calculation for machines with more cores', () => {
  const CASES: readonly { name: string; runs: readonly CoresRun[]; expected: readonly unknown[] }[] = [
    {
      name: 'two cores share all the work of a message',
      runs: [run(1, 0.4, { mta: 0.6, postgres: 0.08, redis: 0.01 })],
      expected: [[2, 1, 'all cores', 2000]],
    },
    {
      name: 'each machine has the price of as many processes as it runs',
      runs: [run(1, 0.4, { mta: 0.69 }), run(4, 0.5, { mta: 1.69 })],
      expected: [
        [2, 1, 'all cores', 2000],
        [8, 4, 'all cores', 4000],
      ],
    },
    {
      name: 'a main thread is a limit of its own',
      runs: [run(4, 1, { mta: 1 })],
      expected: [[8, 4, 'outbound', 4000]],
    },
    {
      name: 'so is Redis, for accepting and sending together',
      runs: [run(16, 0.5, { mta: 0.5, redis: 0.24 })],
      expected: [[32, 16, 'Redis', 4000]],
    },
    {
      name: 'and so is the api',
      runs: [run(16, 0.5, { mta: 0.5 })],
      expected: [[32, 16, 'one api', 5000]],
    },
    {
      name: 'processes on cores of their own say nothing about competition',
      runs: [run(1, 0.4, { mta: 0.69 }, true)],
      expected: [],
    },
  ]
  for (const { name, runs, expected } of CASES)
    it(name, () => {
      const predictions = predict({ runs, accept: ACCEPT })
      assert.deepEqual(
        predictions.map(({ cores, processes, limits, limitedBy }) => [
          cores,
          processes,
          limitedBy,
          Math.round(limits[limitedBy]),
        ]),
        expected,
      )
    })
})
