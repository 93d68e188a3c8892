import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'
import { isWorthCollecting } from './idle-memory.ts'

const MB = 2 ** 20

/** Leaves 40 MB of garbage, as a start does, and prints the heap before and after. */
const PROGRAM = `
  import { releaseIdleMemory } from ${JSON.stringify(join(import.meta.dirname, 'idle-memory.ts'))}
  globalThis.garbage = Array.from({ length: 400_000 }, (_, i) => ({ i, text: 'x' + i }))
  const before = process.memoryUsage().heapUsed
  globalThis.garbage = null
  releaseIdleMemory(1)
  setTimeout(() => console.log(before - process.memoryUsage().heapUsed > 10_000_000), 200)
`

describe('the memory of an idle process', () => {
  it('of its start is returned without waiting for a full heap', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], { encoding: 'utf8' })
    assert.strictEqual(stdout, 'true\n', stderr)
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
