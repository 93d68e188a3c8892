import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { LiveSet } from './live-set.ts'

/**
 * 50 members at a time come and go, each with 4 KB in the heap and 10 KB outside. Prints the number of full
 * collections, one of which it makes itself.
 */
const PROGRAM = `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { setImmediate } from 'node:timers/promises'
  import { LiveSet } from '#src/concurrency/live-set.ts'
  let full = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR) full++
  }).observe({ entryTypes: ['gc'] })
  const members = process.argv[1] === 'Set' ? new Set() : new LiveSet()
  const open = Array.from({ length: 50 }, () => null)
  for (let i = 0; i < 50_000; i++) {
    const member = { body: Buffer.allocUnsafeSlow(10_000), fields: Array(500).fill(i) }
    members.add(member)
    members.delete(open[i % 50])
    open[i % 50] = member
    if (i === 1000) gc() // what is in use moves to the old generation
    if (i % 100 === 0) await setImmediate()
  }
  await setImmediate()
  console.log(full)
`

describe('LiveSet', () => {
  it('has the members of a Set, in the same order', () => {
    const changes = fc.array(fc.tuple(fc.boolean(), fc.nat(9)))
    fc.assert(
      fc.property(changes, (list) => {
        const [live, expected] = [new LiveSet(), new Set<object>()]
        const objects = Array.from({ length: 10 }, (_, number) => ({ number }))
        for (const [isAdded, chosen] of list) {
          const member = objects[chosen] ?? {}
          if (!isAdded) {
            live.delete(member)
            expected.delete(member)
          } else if (!expected.has(member)) {
            live.add(member)
            expected.add(member)
          }
        }
        assert.deepEqual([...live], [...expected])
        assert.strictEqual(live.size, expected.size)
      }),
    )
  })

  it('allows changes while it is read', () => {
    const live = new LiveSet<{ readonly name: string }>()
    for (const name of ['a', 'b', 'c']) live.add({ name })
    const seen: string[] = []
    for (const member of live) {
      seen.push(member.name)
      live.delete(member)
    }
    assert.deepEqual(seen, ['a', 'b', 'c'])
    assert.strictEqual(live.size, 0)
  })

  it('leaves what was deleted to young collections', async function () {
    this.timeout(60_000)
    const [ofSet = 0, ofLiveSet = 0] = await Promise.all(['Set', 'LiveSet'].map(countFullCollections))
    assert.isAbove(ofSet, 10, 'a Set has the problem')
    assert.isBelow(ofLiveSet, 4)
  })
})

async function countFullCollections(kind: string): Promise<number> {
  const options = ['--expose-gc', '--max-semi-space-size=2', '--input-type=module', '-e', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, [...options, kind], { cwd: import.meta.dirname })
  return Number(stdout)
}
