import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'

/** Prints how many threads were changed, the priority of each thread of the pool, and that of the main thread. */
const PROGRAM = `
  import { readdirSync, readFileSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { lowerPoolPriority } from ${JSON.stringify(join(import.meta.dirname, 'thread-pool.ts'))}
  const changed = await lowerPoolPriority()
  const pool = readdirSync('/proc/self/task')
    .filter((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').startsWith('libuv-worker'))
  console.log(JSON.stringify([changed, pool.map((id) => getPriority(Number(id))), getPriority()]))
`

describe('the threads that sign', () => {
  it('have a lower priority than the main thread', function () {
    if (process.platform !== 'linux') this.skip()
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], {
      encoding: 'utf8',
      env: { ...process.env, UV_THREADPOOL_SIZE: '3' },
    })
    assert.strictEqual(stderr, '')
    const [changed, pool, main] = JSON.parse(stdout) as readonly [number, readonly number[], number]
    assert.deepEqual([changed, pool], [3, [main + 5, main + 5, main + 5]])
  })
})
