import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'
import { isWorthCollecting } from './idle-memory.ts'

const MB = 2 ** 20

/**
 * Leaves 40 MB of garbage, as a start does, and a large young generation, as a burst does. Prints how many MB less
 * there are afterwards: of the heap, and of the young generation.
 */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { releaseIdleMemory } from ${JSON.stringify(join(import.meta.dirname, 'idle-memory.ts'))}
  const youngBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size
  globalThis.garbage = []
  while (youngBytes() < 30 * ${MB} || garbage.length < 400_000)
    garbage.push(...Array.from({ length: 1000 }, (_, i) => ({ i, text: 'x' + i })))
  const [heap, young] = [process.memoryUsage().heapUsed, youngBytes()]
  globalThis.garbage = null
  releaseIdleMemory(1)
  setTimeout(() => {
    const released = [heap - process.memoryUsage().heapUsed, young - youngBytes()]
    console.log(JSON.stringify(released.map((bytes) => bytes / ${MB})))
  }, 300)
`

describe('the memory of an idle process', () => {
  it('is returned without waiting for a full heap, with the young generation', () => {
    // as large as V8 allows on a machine with enough memory
    const options = ['--max-semi-space-size=32', '--input-type=module', '-e', PROGRAM]
    const { stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' })
    assert.strictEqual(stderr, '')
    const [heapMb = 0, youngMb = 0] = JSON.parse(stdout) as readonly number[]
    assert.isAbove(heapMb, 10)
    assert.isAbove(youngMb, 20)
  })

  const rows: readonly (readonly [what: string, grownMb: number, cpuMs: number, afterMs: number, expected: boolean])[] =
    [
      ['a burst is over', 30, 50, 60_000, true],
      ['the burst goes on', 30, 500, 60_000, false],
      ['it has hardly grown', 5, 50, 60_000, false],
      ['it has shrunk', -5, 50, 60_000, false],
      ['the last collection was a moment ago', 30, 50, 5000, false],
    ]
  for (const [what, grownMb, cpuMs, afterMs, expected] of rows)
    it(`${what}: it is ${expected ? '' : 'not '}returned`, () => {
      const collected = { atMs: 1000, cpuMs: 2000, residentBytes: 60 * MB }
      const previous = { atMs: collected.atMs + afterMs - 5000, cpuMs: 9000, residentBytes: 80 * MB }
      const now = {
        atMs: collected.atMs + afterMs,
        cpuMs: previous.cpuMs + cpuMs,
        residentBytes: collected.residentBytes + grownMb * MB,
      }
      assert.strictEqual(isWorthCollecting(now, previous, collected), expected)
    })
})
