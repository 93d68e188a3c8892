import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'

/** Leaves 40 MB of garbage, as a start does, and prints the heap before and after. */
const PROGRAM = `
  import { releaseStartMemory } from ${JSON.stringify(join(import.meta.dirname, 'start-memory.ts'))}
  globalThis.garbage = Array.from({ length: 400_000 }, (_, i) => ({ i, text: 'x' + i }))
  const before = process.memoryUsage().heapUsed
  globalThis.garbage = null
  releaseStartMemory(1)
  setTimeout(() => console.log(before - process.memoryUsage().heapUsed > 10_000_000), 200)
`

describe('the memory of a start', () => {
  it('is returned without waiting for a full heap', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], { encoding: 'utf8' })
    assert.strictEqual(stdout, 'true\n', stderr)
  })
})
